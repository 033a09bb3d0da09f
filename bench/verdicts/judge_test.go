package main

import (
	"regexp"
	"strings"
	"testing"
)

// said returns a diagnosis with these places.
func said(boundBy, headline string, functions ...string) (d diagnosis) {
	d.Valid, d.Headline = true, headline
	d.BoundBy, d.Kind, _ = strings.Cut(strings.TrimSuffix(boundBy, ")"), " (")
	for _, f := range functions {
		d.Where = append(d.Where, struct{ Function string }{f})
	}
	return d
}

func TestJudge(t *testing.T) {
	l := bound{Kinds: []string{"wait"}, place: regexp.MustCompile(`Sync`)}
	invalid := said("wait", "", "os.(*File).Sync")
	invalid.Valid = false
	for _, c := range []struct {
		said diagnosis
		want string
	}{
		{said("wait", "", "os.(*File).Sync"), right},
		{said("wait (disk)", "", "os.(*File).Sync"), right},
		{said("wait", "it waits in os.(*File).Sync"), right},
		{said("wait", "", "main.serve"), noUse},
		{said("wait", "", "main.serve", "os.(*File).Sync"), noUse}, // only the first place is the answer
		{said("wait", "", "example.com/Sync/main.serve"), noUse},   // the path of a package is no place
		{said("wait", "in example.com/Sync/main.serve (a.go:1)"), noUse},
		{said("cpu", "", "os.(*File).Sync"), wrong},
		{said("generator", ""), wrong},
		{said("unknown", ""), unknown},
		{said("environment", ""), unknown},
		{said("", ""), unknown},
		{invalid, unknown},
	} {
		if got := l.judge(c.said); got != c.want {
			t.Errorf("%+v: %s, want %s", c.said, got, c.want)
		}
	}
}

// Where the truth is a limit, it matters what is refused; whatever bounds the requests that are served is another matter.
func TestSheds(t *testing.T) {
	l := bound{Kinds: []string{sheds}, place: regexp.MustCompile(`\b503\b`)}
	for _, c := range []struct{ sheds, boundBy, want string }{
		{"97% were refused (503 Service Unavailable: 12)", "cpu", right},
		{"97% were refused (503 Service Unavailable: 12)", "unknown", right},
		{"97% were refused (429 Too Many Requests: 12)", "cpu", noUse},
		{"", "cpu", wrong},
		{"", "unknown", unknown},
	} {
		d := said(c.boundBy, "503 at a time", "main.answer503")
		d.Sheds = c.sheds
		var r row
		if r.add(l, d); r.Judged != c.want || strings.HasPrefix(r.BoundBy, sheds) != (c.sheds != "") {
			t.Errorf("%+v: %s, %s", c, r.Judged, r.BoundBy)
		}
	}
}

// The patterns of the list match a useful answer, and neither the program's or the module's name nor the handler of all requests.
func TestPlaces(t *testing.T) {
	all, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	loads := map[string]bound{}
	for _, p := range all {
		for _, l := range p.Loads {
			loads[l.Name] = l
		}
	}
	for _, c := range []struct {
		load string
		said diagnosis
		want string
	}{
		{"alertmanager-list", said("lock", "", "github.com/prometheus/alertmanager/types.(*MemMarker).SetInhibited"), right},
		{"alertmanager-list", said("cpu", "", "github.com/prometheus/alertmanager/api.(*API).limitHandler.func1"), noUse},
		{"caddy-proxy", said("wait (network)", "Waiting for an answer from downstream bounds it", "example.com/metrics.Push"), noUse},
		{"caddy-proxy", said("wait (network)", "", "github.com/caddyserver/caddy/v2/modules/caddyhttp/reverseproxy.(*HTTPTransport).RoundTrip"), right},
		{"caddy-proxy", said("wait (channel)", "", "github.com/caddyserver/caddy/v2/modules/caddyhttp/reverseproxy.(*HTTPTransport).RoundTrip"), wrong},
		{"gofakes3-bolt", said("lock", "it is held by sync.(*Mutex).Lock", "sync.(*Mutex).Lock"), noUse},
		{"gofakes3-bolt", said("lock", "it is held by a/s3bolt.(*Backend).PutObject, 98% of it in go.etcd.io/bbolt.(*Tx).Commit", "a/s3bolt.(*Backend).PutObject"), right},
		{"tusd-upload", said("syscall", "", "github.com/tus/tusd/v2/pkg/filestore.createFile"), right},
		{"tusd-upload", said("syscall", "most of it waiting for a file", "github.com/tus/tusd/v2/pkg/handler.(*Handler).PostFile"), noUse},
		{"vm-query", said("cpu", "", "github.com/VictoriaMetrics/VictoriaMetrics/app/vmselect.RequestHandler", "x/promql.(*rollupConfig).doInternal"), noUse},
		{"vm-query", said("gc", "", "github.com/VictoriaMetrics/VictoriaMetrics/app/vmselect/promql.(*rollupConfig).doInternal"), right},
		{"vm-import", said("cpu", "", "github.com/VictoriaMetrics/VictoriaMetrics/lib/workingsetcache.(*Cache).Get"), right},
		{"vm-import", said("cpu", "", "github.com/VictoriaMetrics/VictoriaMetrics/lib/storage/netutil.(*statConn).Write"), noUse},
		{"etcd-put", said("cpu", "", "go.etcd.io/etcd/api/v3/etcdserverpb.(*kVClient).Put"), right},
		{"etcd-put", said("wait (disk)", "", "go.etcd.io/etcd/client/pkg/v3/fileutil.Fdatasync"), wrong},
	} {
		if got := loads[c.load].judge(c.said); got != c.want {
			t.Errorf("%s: %+v: %s, want %s", c.load, c.said, got, c.want)
		}
	}
}

// The worst of several diagnoses counts, and only those like the first are the same.
func TestRepeats(t *testing.T) {
	l := bound{Kinds: []string{"wait", "lock"}, place: regexp.MustCompile(``)}
	var r row
	for _, by := range []string{"wait", "wait", "cpu", "unknown", "wait"} {
		r.add(l, diagnosis{Valid: true, BoundBy: by, Kind: "disk", Confirmed: by == "wait"})
	}
	if r.Judged != wrong || r.BoundBy != "cpu (disk)" || r.Sure != "unconfirmed" || r.Same != 3 {
		t.Errorf("%+v", r)
	}
}

// A change that brings too little, or nothing for certain, proves nothing, and does not hide a wrong verdict.
func TestUnproven(t *testing.T) {
	for _, c := range []struct {
		before    string
		ratio, lo float64
		want      string
	}{{right, 2, 1.5, right}, {right, 1.1, 1.05, unproven}, {right, 1.5, 0.9, unproven}, {unknown, 1.1, 1.05, unproven}, {wrong, 1.1, 1.05, wrong}} {
		told := comparison{Valid: true, Steps: make([]struct{ Change string }, 2)}
		told.Metric.Work.Ratio, told.Metric.Work.Interval = &c.ratio, &[2]float64{c.lo, 3}
		r := row{Judged: c.before}
		if err := r.compare(told); err != nil || r.Judged != c.want {
			t.Errorf("%v: %s, %v", c, r.Judged, err)
		}
		told.Valid, told.Reason = false, "it was interrupted"
		if err := r.compare(told); err == nil || !strings.Contains(err.Error(), told.Reason) {
			t.Error(err)
		}
	}
	if err := new(row).compare(comparison{Valid: true, Reason: "no turn"}); err == nil || !strings.Contains(err.Error(), "no turn") {
		t.Error(err)
	}
}
