package arena

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"dyno/parts/daemon"
	"dyno/services/arena/room"
)

// expose registers the metrics.
func expose(env *daemon.Env, s *server, stats *room.Stats) error {
	late := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "arena_tick_lateness_seconds", Help: "how late ticks begin, in seconds",
		Buckets: []float64{.00005, .0001, .00025, .0005, .001, .002, .004, .008, .016, .033, .1, .5, 2},
	})
	stats.Lateness = func(d time.Duration) { late.Observe(d.Seconds()) }
	if err := env.Metrics.Register(late); err != nil {
		return err
	}
	connections := daemon.Metric{Name: "connections", Help: "WebSockets that are open", Read: func() float64 { return float64(s.count()) }}
	present := daemon.Metric{Name: "present_players", Help: "players with a heartbeat over HTTP in the last 30 s", Read: func() float64 { return float64(s.beats.Present()) }}
	env.Sample("arena_", connections)
	return env.Expose("arena_", func(set daemon.Set) {
		for _, why := range room.Reasons() {
			set("rejected_inputs_total", float64(stats.Rejected(why)), why.String())
		}
	},
		connections, present,
		daemon.Metric{Name: "unremembered_heartbeats_total", Help: "heartbeats of players beyond max_present", Read: func() float64 { return float64(s.beats.Beyond()) }},
		daemon.Metric{Name: "rejected_inputs_total", Help: "what clients sent and was not done", Labels: []string{"reason"}},
		daemon.Metric{Name: "nodes", Help: "servers that are known, with this one", Read: s.nodes},
		daemon.Metric{Name: "rooms", Help: "rooms that run", Read: func() float64 { return float64(len(s.all())) }},
		daemon.Metric{Name: "out_queue_bytes", Help: "bytes that wait for clients", Read: func() float64 { return float64(s.queued()) }},
		daemon.Metric{Name: "written_bytes_total", Help: "bytes of frames for clients", Read: func() float64 { return float64(stats.Written.Load()) }},
		daemon.Metric{Name: "tick_overruns_total", Help: "ticks that took longer than there was time", Read: func() float64 { return float64(stats.Overruns.Load()) }},
		daemon.Metric{Name: "conflated_frames_total", Help: "states that a client was not written, as it had not taken an older one", Read: func() float64 { return float64(stats.Conflated.Load()) }},
		daemon.Metric{Name: "dropped_events_total", Help: "events that a client was not written, as too many waited", Read: func() float64 { return float64(stats.Dropped.Load()) }},
	)
}
