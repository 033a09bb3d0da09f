// The panels of a run's series, in the report and while the run is in progress. A panel without data is left out.
const panelKinds = [
  {title: 'Rate', unit: 'per second', lines: {offered: 'offered', achieved: 'achieved', delivered: 'delivered', refused: 'refused', failed: 'failed'}},
  {title: 'Latency', unit: 'ms', log: true, lines: {p99: 'p99', p50: 'p50', delivery_p99: 'delivery p99'}},
  {title: 'Backlog', unit: 'offered, not finished', lines: {backlog: 'backlog'}},
  {title: 'Frames', unit: 'per second, all sessions', lines: {frames: 'frames'}},
  {title: 'Received', unit: 'MiB per second, all sessions', lines: {bytes_in: 'received'}},
  {title: 'Lost sessions', unit: 'in a window', lines: {lost: 'lost'}},
  {title: 'CPU', unit: 'cores', lines: {cpu: 'service', generator_cpu: 'generator'}},
  {title: 'Waiting', unit: 'seconds per second', lines: {delay: 'run queue', mutex_wait: 'mutexes'}},
  {title: 'Memory', unit: 'MiB', lines: {heap_live: 'live', heap_goal: 'goal', rss: 'RSS'}},
  {title: 'GC pauses', unit: 'ms in 100 ms', lines: {gc_pause: 'pause'}},
  {title: 'Goroutines', unit: '', lines: {goroutines: 'goroutines'}},
  {title: 'Allocations', unit: 'objects per second', lines: {allocs: 'allocations'}},
];
