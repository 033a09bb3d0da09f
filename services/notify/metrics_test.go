package notify

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"dyno/parts/daemon"
)

// Every gauge can be registered beside the others, and says what it is.
func TestGauges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		registry := prometheus.NewPedanticRegistry()
		var names []string
		for _, g := range append(w.d.gauges(), totals...) {
			if g.Help == "" || slices.Contains(names, g.Name) {
				t.Errorf("%s: %s", g.Name, g.Help)
			}
			names = append(names, g.Name)
		}
		env := &daemon.Env{Metrics: registry}
		err := errors.Join(registry.Register(w.d.deliverer.Durations()), env.Expose(prefix, w.d.collect, append(w.d.gauges(), totals...)...))
		if err != nil {
			t.Error(err)
		}
		all, err := registry.Gather()
		if err != nil || len(all) != len(names)+1 {
			t.Errorf("%d of %d are shown, %v", len(all), len(names)+1, err)
		}
		for _, one := range all {
			if !strings.HasPrefix(one.GetName(), "notifyd_") {
				t.Errorf("%s has another prefix", one.GetName())
			}
		}
		if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
			t.Errorf("%+v, %v", problems, err)
		}
		for _, name := range []string{"async_queue_depth", "async_oldest_age_seconds", "queue_peak", "lost_deliveries_total"} {
			if !slices.Contains(names, name) {
				t.Errorf("there is no %s", name)
			}
		}
		w.stop()
	})
}

// The gauges show the true figures.
func TestGaugesAreTrue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, func(hook) outcome { return outcome{} })
		w := newWorld(t, patient(map[string]string{"window": "3"}))
		w.subscribe(p.host, withConcurrency(2))
		w.mustPost(aSeries("n", 10, "", "t")...)
		pass(2 * time.Second)
		for _, g := range w.d.gauges() {
			want, known := map[string]float64{
				"async_queue_depth": 10, "async_busy_workers": 2, "async_hanging_workers": 2, "async_lagging_subscriptions": 1,
				"async_oldest_age_seconds": 2, "wal_records_total": 10, "lost_deliveries_total": 0, "streams": 0,
			}[g.Name]
			if got := g.Read(); known && got != want {
				t.Errorf("%s is %v, want %v", g.Name, got, want)
			}
		}
		w.stop()
	})
}

// What Prometheus reads is what GET /v1/stats says, in a form that Prometheus reads.
func TestMetricsAreTheStatistics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, func(h hook) outcome {
			return map[string]outcome{"fine": {status: 200}, "sick": {status: 500}}[h.keys[0]]
		})
		w := newWorld(t, map[string]string{"max_attempts": "3", "max_pending": "3"})
		w.subscribe(p.host)
		w.mustPost(aNotice("1", "fine", "t"), aNotice("2", "sick", "t"))
		pass(10 * time.Second)
		p.answers(func(hook) outcome { return outcome{} })
		w.mustPost(aNotice("3", "fine", "t"))
		w.refused(http.StatusTooManyRequests, aSeries("many", 3, "k", "t")...)
		pass(2 * time.Second)

		registry := prometheus.NewPedanticRegistry()
		env := &daemon.Env{Metrics: registry}
		if err := env.Expose(prefix, w.d.collect, append(w.d.gauges(), totals...)...); err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRecorder()
		promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(r, httptest.NewRequest("GET", "/metrics", nil))
		parser := expfmt.NewTextParser(model.LegacyValidation)
		families, err := parser.TextToMetricFamilies(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		s := w.d.api.Stats(1)
		for name, want := range map[string]float64{
			"accepted_total": float64(s.Accepted), "delivered_total": float64(s.Delivered), "attempts_total": float64(s.Attempts), "webhooks_total": float64(s.Webhooks),
			"retries_total": float64(s.Retried), "refused_total": float64(s.Refused), "purged_total": float64(s.Purged),
			"dead_deliveries": float64(s.Dead), "dead_letters": float64(s.DeadLetters), "async_queue_depth": float64(s.Pending),
			"async_oldest_age_seconds": s.OldestAgeSeconds, "async_oldest_reachable_age_seconds": s.OldestReachable,
		} {
			family := families[prefix+name]
			if family == nil || family.GetHelp() == "" || (family.GetType() == dto.MetricType_COUNTER) != strings.HasSuffix(name, "_total") {
				t.Errorf("%s is shown as %v", name, family)
				continue
			}
			one := family.GetMetric()[0]
			if got := one.GetCounter().GetValue() + one.GetGauge().GetValue(); got != want {
				t.Errorf("%s is %v, and the statistics say %v", name, got, want)
			}
		}
		if s.Accepted != 3 || s.Delivered != 1 || s.Attempts != 4 || s.Retried != 2 || s.Dead != 1 || s.DeadLetters != 1 || s.Pending != 1 || s.Refused != 3 || s.OldestAgeSeconds != 2 {
			t.Errorf("the statistics say %+v", s)
		}
		w.stop()
	})
}
