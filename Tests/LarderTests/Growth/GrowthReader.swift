// SPDX-License-Identifier: MIT

import Foundation

/// Another process that has a store open for reading, and counts what it finds when it is asked.
final class GrowthReader {
  private static let program = try? CProgram(code, usesStore: true)

  private let running: CProgram.Running

  /// nil without a compiler.
  init?(_ path: String) throws {
    guard CProgram.isCompilerThere, let program = Self.program else { return nil }
    running = try program.start()
    let answer = try running.ask(path)
    if answer != "open" { throw CProgram.Failure(description: answer) }
  }

  deinit { try? running.end() }

  /// The entries by key, and in each index that has any.
  func counts() throws -> [Int] {
    try running.ask("count").split(separator: " ").compactMap { Int($0) }
  }

  private static let code = """
    #include <larder_store.h>
    #include <stdio.h>
    #include <string.h>

    int main(void) {
        char line[4096];
        larder_store *store = NULL;
        larder_store_options options;
        larder_store_options_init(&options);
        options.flags = LARDER_STORE_READ_ONLY;
        while (fgets(line, sizeof line, stdin)) {
            line[strcspn(line, "\\n")] = 0;
            if (!store) {
                larder_status status = larder_store_open(line, &options, NULL, &store);
                puts(status ? larder_strerror(status) : "open");
                fflush(stdout);
                continue;
            }
            for (int index = -1; index <= UINT16_MAX; index++) {
                larder_store_query query;
                uint64_t count = 0;
                larder_store_query_init(&query);
                query.order = index < 0 ? LARDER_STORE_BY_KEY : LARDER_STORE_BY_INDEX;
                query.index = (uint16_t)(index < 0 ? 0 : index);
                larder_status status = larder_store_count(store, &query, UINT64_MAX, &count);
                if (status) printf("%s ", larder_strerror(status));
                else if (count > 0) printf("%llu ", (unsigned long long)count);
            }
            puts("");
            fflush(stdout);
        }
        larder_store_close(store);
        return 0;
    }
    """
}
