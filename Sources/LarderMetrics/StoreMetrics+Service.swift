// SPDX-License-Identifier: MIT

#if Metrics && ServiceLifecycle
  public import ServiceLifecycle

  extension StoreMetrics: Service {}
#endif
