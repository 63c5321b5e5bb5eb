// SPDX-License-Identifier: MIT

import CLarder

/// The version of Larder, as `major.minor.patch`, for `larder --version`.
package let libraryVersion: String = LARDER_VERSION
