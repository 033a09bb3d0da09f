package live

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dyno/lab/live/livetest"
	"dyno/lab/record"
	"dyno/lab/record/folder"

	"go.uber.org/goleak"
)

// get requests a page as a browser on this machine does.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func get(t *testing.T, s *Server, path string, change ...func(*http.Request)) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Host = "127.0.0.1:8100"
	for _, f := range change {
		f(r)
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w
}

// shop is a folder with a finished experiment, "shop".
func shop(t *testing.T) (dir string, m *livetest.Made) {
	t.Helper()
	dir = t.TempDir()
	m = livetest.New(t, filepath.Join(dir, "shop"), record.KindCapacity, time.Unix(1.7e9, 0), "plain")
	m.Search("plain", 1000, 4500)
	m.Finish()
	return dir, m
}

func TestPages(t *testing.T) {
	dir, _ := shop(t)
	going := livetest.New(t, filepath.Join(dir, "going"), record.KindLadder, time.Now(), livetest.Hostile)
	going.Search(livetest.Hostile, 1000)
	broken := livetest.New(t, filepath.Join(dir, "broken"), record.KindLadder, time.Now(), "plain")
	broken.Age(time.Hour)
	s := New(Options{Dir: dir})
	for _, tt := range []struct {
		path   string
		status int
		holds  []string
		lacks  string
	}{
		{path: "/", status: 200, holds: []string{`href="/run/shop/"`, `data-ask="/run/shop/answer"`, "going on", "broken off", "capacity"}},
		{path: "/?q=SHO", status: 200, holds: []string{`href="/run/shop/"`}, lacks: "/run/going/"},
		{path: "/?q=%3Cscript%3E", status: 200, holds: []string{"&lt;script&gt;"}, lacks: "<script>"},
		{path: "/run/shop/", status: 200, holds: []string{"<!doctype html>", "shop carries", `href="/">All experiments`}},
		{path: "/run/shop", status: 307, holds: []string{`href="/run/shop/"`}},
		{path: "/run/shop/answer", status: 200, holds: []string{`"answer":"shop carries`, `"runs":2`}},
		{path: "/run/going/", status: 200, holds: []string{`src="/assets/live.js"`, "The report so far"}, lacks: "<img"},
		{path: "/run/going/report", status: 200, holds: []string{"<!doctype html>", "001-search"}, lacks: "<img"},
		{path: "/run/broken/", status: 200, holds: []string{"broken off", "No run was finished"}, lacks: "live.js"},
		{path: "/run/absent/", status: 404, holds: []string{"Not found"}},
		{path: "/run/absent/answer", status: 404},
		{path: "/run/absent/events", status: 404},
		{path: "/run/..%2fshop/", status: 404},
		{path: "/run/%2e%2e/", status: 404},
		{path: "/run/a%00b/", status: 404},
		{path: "/run/" + strings.Repeat("x", 5000) + "/", status: 404},
		{path: "/assets/page.css", status: 200, holds: []string{"--ground", ".experiments", ".uplot"}},
		{path: "/assets/chart.js", status: 200, holds: []string{"uPlot"}},
		{path: "/assets/..%2flive.go", status: 404},
		{path: "/compare", status: 404},
		{path: "/favicon.ico", status: 404},
	} {
		w := get(t, s, tt.path)
		body := w.Body.String()
		if w.Code != tt.status {
			t.Errorf("%.60s: status %d, want %d: %.200s", tt.path, w.Code, tt.status, body)
		}
		for _, want := range tt.holds {
			if !strings.Contains(body, want) {
				t.Errorf("%s does not hold %q", tt.path, want)
			}
		}
		if tt.lacks != "" && strings.Contains(body, tt.lacks) {
			t.Errorf("%s holds %q", tt.path, tt.lacks)
		}
	}
}

func TestOnlyOwnPagesRead(t *testing.T) {
	dir, _ := shop(t)
	header := func(pairs ...string) func(*http.Request) {
		return func(r *http.Request) {
			for i := 0; i < len(pairs); i += 2 {
				r.Header.Set(pairs[i], pairs[i+1])
			}
		}
	}
	host := func(h string) func(*http.Request) { return func(r *http.Request) { r.Host = h } }
	for _, tt := range []struct {
		name   string
		change func(*http.Request)
		ok     bool
	}{
		{"typed in", header(), true},
		{"localhost", host("localhost:8100"), true},
		{"IPv6", host("[::1]:8100"), true},
		{"a name that points here", host("evil.example:8100"), false},
		{"a number in front of a name", host("127.0.0.1.evil.example"), false},
		{"the name it was given", host("Bench.lan:8100"), true},
		{"no host", host(""), false},
		{"its own script", header("Sec-Fetch-Site", "same-origin", "Sec-Fetch-Mode", "cors"), true},
		{"its own origin", header("Origin", "http://127.0.0.1:8100"), true},
		{"another site's script", header("Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "cors"), false},
		{"another port's script", header("Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "no-cors"), false},
		{"another site's link", header("Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"), true},
		{"another origin", header("Origin", "http://evil.example"), false},
		{"no origin to speak of", header("Origin", "null"), false},
	} {
		for _, path := range []string{"/", "/run/shop/", "/run/shop/events", "/assets/live.js"} {
			w := get(t, New(Options{Dir: dir, Host: "bench.lan"}), path, tt.change)
			if ok := w.Code == 200; ok != tt.ok || !ok && w.Code != http.StatusForbidden {
				t.Errorf("%s: %s has status %d, want it answered: %v", tt.name, path, w.Code, tt.ok)
			}
		}
	}
	s := New(Options{Dir: dir})
	for path, want := range map[string]string{"/": "default-src 'none'", "/run/shop/": "frame-ancestors 'none'"} {
		if got := get(t, s, path).Header().Get("Content-Security-Policy"); !strings.Contains(got, want) || strings.Contains(got, "unsafe") {
			t.Errorf("%s has the policy %q", path, got)
		}
	}
	if w := get(t, s, "/", func(r *http.Request) { r.Method = http.MethodPost }); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST has status %d", w.Code)
	}
}

// Other entries in a folder, and changes to it, do not affect an experiment.
func TestFolderIsForeign(t *testing.T) {
	dir, _ := shop(t)
	elsewhere, _ := shop(t)
	write := func(path, text string) {
		t.Helper()
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	link := func(to, name string) {
		t.Helper()
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Skipf("no symbolic links here: %v", err)
		}
	}
	write("half/experiment.json", `{"version":1,"name":"half","runs":["001-sea`)
	write("empty/experiment.json", ``)
	write("null/experiment.json", `null`)
	write("missing/experiment.json", `{"version":1,"name":"missing","kind":"ladder","runs":["001-search-x"]}`)
	write("missing/report.html", "")
	write("escape/experiment.json", `{"version":1,"name":"escape","kind":"ladder","runs":["../../shop/runs/001-search-plain"]}`)
	write("escape/report.html", "")
	write("future/experiment.json", `{"version":99,"name":"future","kind":"ladder","runs":["001-search-x"]}`)
	write("future/report.html", "")
	write("a-file", "x")
	write("other/readme.txt", "x")
	write(".hidden/experiment.json", `{"version":1}`)
	link(filepath.Join(elsewhere, "shop"), "linked")
	write("inner/experiment.json", `{"version":1,"name":"inner","kind":"load","runs":["001-search-plain"]}`)
	write("inner/report.html", "")
	link(filepath.Join(elsewhere, "shop", "runs"), "inner/runs")
	write("headless/runs/x", "")
	link(filepath.Join(elsewhere, "shop", "experiment.json"), "headless/experiment.json")

	s := New(Options{Dir: dir})
	list := get(t, s, "/").Body.String()
	for _, name := range []string{"half", "empty", ".hidden", "linked", "headless", "other", "a-file"} {
		if strings.Contains(list, "/run/"+name+"/") {
			t.Errorf("the list shows %s", name)
		}
	}
	if !strings.Contains(list, "/run/shop/") {
		t.Error("the list does not show the sound experiment")
	}
	for name, want := range map[string]int{
		"half": 500, "empty": 500, "missing": 500, "escape": 500, "future": 500, "a-file": 404, "other": 404,
		".hidden": 404, "linked": 404, "inner": 500, "headless": 500, "shop": 200,
	} {
		w := get(t, s, "/run/"+name+"/report")
		if w.Code != want {
			t.Errorf("/run/%s/report has status %d, want %d: %.300s", name, w.Code, want, w.Body)
		}
		if want != 200 && strings.Contains(w.Body.String(), "shop carries") {
			t.Errorf("/run/%s/report shows an experiment from elsewhere", name)
		}
		for _, path := range []string{"/run/" + name + "/", "/run/" + name + "/answer"} {
			if w := get(t, s, path); w.Code >= 500 && w.Code != want {
				t.Errorf("%s has status %d", path, w.Code)
			}
		}
	}
	f := &follower{index: s.index, name: "inner", fresh: true}
	events, err := f.changes()
	if got, _ := kinds(events); err != nil || !strings.HasPrefix(got, eventRow) || !strings.Contains(events[0].data.(string), "no folder runs") {
		t.Errorf("of runs that lie elsewhere: %v (%v)", events, err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "shop")); err != nil {
		t.Fatal(err)
	}
	if w := get(t, s, "/run/shop/"); w.Code != 404 {
		t.Errorf("a removed experiment has status %d", w.Code)
	}
	if w := get(t, New(Options{Dir: filepath.Join(dir, "not-yet")}), "/"); w.Code != 200 || !strings.Contains(w.Body.String(), "no experiment in this folder yet") {
		t.Errorf("a folder that is not there yet has status %d", w.Code)
	}
}

// noProcess is a number above those that systems give to processes.
const noProcess = 1<<31 - 1

// TestLargeHeadsAreNotKept: two thousand of them would exceed the memory bound.
func TestLargeHeadsAreNotKept(t *testing.T) {
	dir, m := shop(t)
	s := newIndex(dir)
	kept := func() bool {
		h, err := s.head("shop")
		if err != nil {
			t.Fatal(err)
		}
		_, ok := s.heads.get("shop", h.Stamp)
		return ok
	}
	if !kept() {
		t.Error("an ordinary experiment is read anew each time")
	}
	m.Exp.Scenario = strings.Repeat("#\n", maxKept)
	if folder.Save(m.Exp); m.Exp.Unwritten != nil {
		t.Fatal(m.Exp.Unwritten)
	}
	if kept() {
		t.Error("a large experiment is kept in memory")
	}
}

func TestState(t *testing.T) {
	for _, tt := range []struct {
		name  string
		write func(m *livetest.Made)
		want  State
	}{
		{"just begun", func(*livetest.Made) {}, Going},
		{"a run under way", func(m *livetest.Made) { m.Age(time.Hour); m.Begin("search", "plain", 0, 1000).Grow(1) }, Going},
		{"ended", func(m *livetest.Made) { m.Search("plain", 1000).Finish() }, Ended},
		{"ended long ago", func(m *livetest.Made) { m.Search("plain", 1000).Finish(); m.Age(time.Hour) }, Ended},
		{"its process exists, and wrote minutes ago", func(m *livetest.Made) { m.Age(5 * time.Minute) }, Going},
		{"its number is another process's now", func(m *livetest.Made) { m.Age(time.Hour) }, Broken},
		{"its process is not visible from here", func(m *livetest.Made) { m.UnderWay(noProcess); m.Age(time.Minute) }, Going},
		{"its process is gone", func(m *livetest.Made) { m.UnderWay(noProcess); m.Age(5 * time.Minute) }, Broken},
		{"moved here from the future", func(m *livetest.Made) { m.Search("plain", 1000); m.Age(-time.Hour) }, Broken},
	} {
		dir := t.TempDir()
		m := livetest.New(t, filepath.Join(dir, "x"), record.KindCapacity, time.Now(), "plain")
		tt.write(m)
		if got, err := newIndex(dir).state("x"); got != tt.want || err != nil {
			t.Errorf("%s: %q (%v), want %q", tt.name, got, err, tt.want)
		}
	}
}

// A report is built once for each state of the experiment, and again when runs were added.
func TestReportsAreKept(t *testing.T) {
	dir, m := shop(t)
	s := New(Options{Dir: dir})
	first, err := s.reports.of(t.Context(), "shop")
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := s.reports.of(t.Context(), "shop"); again != first {
		t.Error("the report of an unchanged experiment was built twice")
	}
	m.Search("plain", 3000)
	more, err := s.reports.of(t.Context(), "shop")
	if err != nil || len(more.report.Runs) != 3 {
		t.Errorf("after another run the report has %d runs (%v), want 3", len(more.report.Runs), err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	release, _ := s.reports.take(t.Context())
	defer release()
	m.Search("plain", 3500)
	if _, err := s.reports.of(gone, "shop"); err == nil {
		t.Error("a client that has gone waits for another's report")
	}
}

// The list is short and fast for any number of experiments.
func TestManyExperiments(t *testing.T) {
	dir := t.TempDir()
	const many = maxShown + 30
	text, err := json.Marshal(record.Experiment{Version: record.Version, Name: "load", Kind: record.KindLoad})
	if err != nil {
		t.Fatal(err)
	}
	for i := range many {
		sub := filepath.Join(dir, "load-"+string(rune('a'+i%26))+strings.Repeat("z", i/26))
		if err := os.Mkdir(sub, 0o755); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(sub, folder.ExperimentFile)
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
		then := time.Unix(1.7e9+int64(i), 0)
		if err := os.Chtimes(file, then, then); err != nil {
			t.Fatal(err)
		}
	}
	s := New(Options{Dir: dir})
	body := get(t, s, "/").Body.String()
	if n := strings.Count(body, "<li>"); n != maxShown {
		t.Errorf("%d of %d experiments are shown, want %d", n, many, maxShown)
	}
	if strings.Contains(body, `"/run/load-a/"`) || !strings.Contains(body, "30 older experiments") {
		t.Error("the oldest experiment is shown, or nothing says that it was left out")
	}
	if body := get(t, s, "/?q=load-az").Body.String(); !strings.Contains(body, `"/run/load-az/"`) {
		t.Error("the search does not find an older experiment")
	}
}

func TestServeEndsWithItsStreams(t *testing.T) {
	dir := t.TempDir()
	m := livetest.New(t, filepath.Join(dir, "going"), record.KindCapacity, time.Now(), "plain")
	m.Begin(record.RoleSearch, "plain", 0, 1000).Grow(5)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- New(Options{Dir: dir}).Serve(ctx, ln) }()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	resp, err := client.Get("http://" + ln.Addr().String() + "/run/going/events")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if e := nextEvent(t, resp.Body); e.name != eventRun {
		t.Errorf("the first event is %q", e.name)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Serve returned %v", err)
	}
}

// failing is a listener that fails after its first connection, on request.
type failing struct {
	net.Listener
	accepted bool
	fail     chan struct{}
}

func (f *failing) Accept() (net.Conn, error) {
	if f.accepted {
		<-f.fail
		return nil, errors.New("out of files")
	}
	f.accepted = true
	return f.Listener.Accept()
}

// After the listener has failed, responses in progress end before Serve returns.
func TestServeEndsItsStreamsWhenItFails(t *testing.T) {
	dir := t.TempDir()
	m := livetest.New(t, filepath.Join(dir, "going"), record.KindCapacity, time.Now(), "plain")
	m.Begin(record.RoleSearch, "plain", 0, 1000).Grow(5)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	broken := &failing{Listener: ln, fail: make(chan struct{})}
	s := New(Options{Dir: dir})
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(t.Context(), broken) }()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	resp, err := client.Get("http://" + ln.Addr().String() + "/run/going/events")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	nextEvent(t, resp.Body)
	close(broken.fail)
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "out of files") {
		t.Errorf("Serve returned %v", err)
	}
	if n := len(s.streams); n != 0 {
		t.Errorf("%d streams go on", n)
	}
}
