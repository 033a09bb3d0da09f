// Package deploy holds tests of the folder deploy, which has images, units, manifests, alert rules
// and dashboards: that they are well formed, agree with each other, and name only metrics which the
// services expose. It is not for starting containers, clusters or Grafana: no test needs a daemon,
// and what promtool, prometheus and systemd-analyze check is left out where they are missing.
//
// It starts no goroutines of its own; the processes that tests start end with them.
package deploy
