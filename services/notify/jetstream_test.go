package notify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dyno/parts/assembly"
	"dyno/parts/quicktest"
	"dyno/parts/wal"
	"dyno/services/notify/dispatch"
	"dyno/services/notify/jetstream"
	"dyno/services/notify/jetstream/natstest"
	"dyno/services/notify/journal"
	"dyno/services/notify/notifytest"
	"dyno/services/notify/notifytest/full"
	"dyno/services/notify/subscription"
)

// onStreams is the tuned assembly with its logs in the streams of that name.
func onStreams(t testing.TB, url, name string, set map[string]string) Config {
	t.Helper()
	all := map[string]string{"log": "jetstream", "jetstream_url": url, "jetstream_name": name}
	for k, v := range set {
		all[k] = v
	}
	choice, err := Assembly().Resolve(assembly.Tuned, all)
	if err != nil {
		t.Fatal(err)
	}
	c := FromChoice(choice)
	c.AllowPrivate = true
	return c
}

// Every start has an empty data folder of its own, as on another machine.
func TestSuiteOnJetStream(t *testing.T) {
	quicktest.Skip(t, "syncs several times per event")
	t.Parallel()
	url := natstest.Start(t, natstest.Options{MaxBatch: 10_000}).URL
	var mu sync.Mutex
	names := map[string]string{} // of streams, by what a test takes for its folder
	full.Test(t, func(t testing.TB, dir string, l notifytest.Limits) notifytest.Program {
		mu.Lock()
		if names[dir] == "" {
			names[dir] = fmt.Sprintf("suite%d", len(names))
		}
		c := onStreams(t, url, names[dir], nil)
		mu.Unlock()
		return starter(c)(t, t.TempDir(), l)
	})
}

// instance is a dispatcher behind an HTTP server.
type instance struct {
	*Dispatcher
	t    testing.TB
	url  string
	told chan error // by Config.Fail
}

func run(t testing.TB, c Config) *instance {
	t.Helper()
	in := &instance{t: t, told: make(chan error, 100)}
	c.Data = t.TempDir()
	c.Fail = func(err error) {
		select {
		case in.told <- err:
		default:
		}
	}
	d, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(d.Handler())
	t.Cleanup(web.Close)
	in.Dispatcher, in.url = d, web.URL
	return in
}

// stop ends it without waiting for what cannot be delivered.
func (in *instance) stop() error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := in.Close(ctx)
	return err
}

// post returns the status and the body of the answer.
func (in *instance) post(path, kind, body string) (int, string) {
	in.t.Helper()
	resp, err := http.Post(in.url+path, kind, strings.NewReader(body))
	if err != nil {
		in.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		in.t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

func (in *instance) mustPost(want int, path, kind, body string) string {
	in.t.Helper()
	status, text := in.post(path, kind, body)
	if status != want {
		in.t.Fatalf("POST %s: %d %s, want %d", path, status, text, want)
	}
	return text
}

const (
	oneNotice = "application/json"
	ndjson    = "application/x-ndjson"
)

func (in *instance) notice(want int, id string) string {
	in.t.Helper()
	return in.mustPost(want, "/v1/notices", oneNotice, fmt.Sprintf(`{"id":%q,"key":"k","type":"t"}`, id))
}

func noticeLines(from, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"id":"n%d","key":"k%d","type":"t"}`+"\n", from+i, i%100)
	}
	return b.String()
}

// inbox is a subscriber; until it is open, it answers 503: at a backoff of a second that is borne
// for longer than an election takes.
type inbox struct {
	url  string
	mu   sync.Mutex
	open bool
	ids  []string // each once, in the order of their first coming
	got  chan struct{}
}

func newInbox(t testing.TB) *inbox {
	b := &inbox{got: make(chan struct{}, 1)}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get("Webhook-Id")
		b.mu.Lock()
		defer b.mu.Unlock()
		if !b.open {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		if !slices.Contains(b.ids, id) {
			b.ids = append(b.ids, id)
		}
		select {
		case b.got <- struct{}{}:
		default:
		}
	}))
	t.Cleanup(web.Close)
	b.url = web.URL
	return b
}

func (b *inbox) accept() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open = true
}

// await waits for n notices and returns their ids.
func (b *inbox) await(t testing.TB, n int) []string {
	t.Helper()
	limit := time.NewTimer(3 * time.Minute)
	defer limit.Stop()
	for {
		b.mu.Lock()
		ids := slices.Clone(b.ids)
		b.mu.Unlock()
		if len(ids) >= n {
			return ids
		}
		select {
		case <-b.got:
		case <-limit.C:
			t.Fatalf("%d notices came in three minutes, want %d: %v", len(ids), n, ids)
		}
	}
}

// Of two dispatchers on the same streams the one that writes second takes nothing more and says
// why; what either has acknowledged is there for the third.
func TestSecondDispatcherFencesFirst(t *testing.T) {
	c := onStreams(t, natstest.Start(t, natstest.Options{}).URL, "fence", map[string]string{"backoff": "1s", "max_backoff": "1s", "max_attempts": "100"})
	r := newInbox(t)
	first := run(t, c)
	first.mustPost(201, "/v1/subscriptions", oneNotice, fmt.Sprintf(`{"url":%q}`, r.url))
	first.notice(202, "1")
	second := run(t, c)
	second.notice(202, "2")
	for _, id := range []string{"3", "4"} {
		if text := first.notice(503, id); !strings.Contains(text, "another") {
			t.Errorf("the first answered %s", text)
		}
	}
	if err := <-first.told; !errors.Is(err, wal.ErrFailed) {
		t.Errorf("Fail received %v", err)
	}
	if err := first.stop(); !errors.Is(err, wal.ErrFailed) {
		t.Errorf("the first ended with %v", err)
	}
	second.notice(202, "5")
	if err := second.stop(); err != nil && !errors.Is(err, wal.ErrFailed) { // of the journal the first may have been the owner
		t.Errorf("the second ended with %v", err)
	}
	third := run(t, c)
	r.accept()
	if ids := r.await(t, 3); !slices.Equal(ids, []string{"1", "2", "5"}) {
		t.Errorf("delivered %v", ids)
	}
	if text := third.notice(200, "2"); !strings.Contains(text, `"duplicate":true`) {
		t.Errorf("2 is not known: %s", text)
	}
	if err := third.stop(); err != nil {
		t.Error(err)
	}
}

// A batch that the servers do not take as one is refused, with what they take.
func TestBatchBeyondServers(t *testing.T) {
	d := run(t, onStreams(t, natstest.Start(t, natstest.Options{}).URL, "batch", nil))
	text := d.mustPost(http.StatusRequestEntityTooLarge, "/v1/notices", ndjson, noticeLines(0, 1001))
	if !strings.Contains(text, "1001") || !strings.Contains(text, "take 1000 in one batch") {
		t.Errorf("the answer %s does not say how many are too many", text)
	}
	if text := d.mustPost(202, "/v1/notices", ndjson, noticeLines(0, 1000)); !strings.Contains(text, `"accepted":1000,`) {
		t.Errorf("1,000 lines: %.100s", text)
	}
	if err := d.stop(); err != nil {
		t.Error(err)
	}
}

// A checkpoint of as much as one subscription may have is within the defaults of the servers.
func TestLargeCheckpointOnJetStream(t *testing.T) {
	quicktest.Skip(t, "writes 30,000 events, one after the other")
	const waiting, letters = 20_000, journal.DefaultDeadLetters
	at := jetstream.Config{URL: natstest.Start(t, natstest.Options{}).URL, Stream: "journal"}
	open := func() (*journal.Journal, map[string]*subscription.Recovered) {
		b, err := jetstream.Open(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		j, found, err := journal.Open(wal.New(b, wal.Options{Commit: wal.Group}))
		if err != nil {
			t.Fatal(err)
		}
		return j, found
	}
	j, _ := open()
	def := subscription.Definition{ID: "s", URL: "http://x"}
	if err := j.Put(def, 1); err != nil {
		t.Fatal(err)
	}
	p := subscription.Position{Definition: def, Filters: []subscription.Filter{{From: 1}}, Loaded: letters + waiting + 1, Routed: letters + waiting + 1}
	for i := range letters {
		if _, err := j.AddDeadLetter("s", subscription.DeadLetter{Seq: uint64(i + 1), Reason: "answered 500"}, []byte("record")); err != nil {
			t.Fatal(err)
		}
	}
	for i := range waiting {
		p.Waiting = append(p.Waiting, subscription.Waiting{Seq: uint64(letters + i + 1), Tries: 7, Next: time.Unix(1e9, 0)})
	}
	for range 2 { // the second leaves the first behind
		if err := j.Checkpoint(func(put func(subscription.Position)) { put(p) }); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j, found := open()
	if s := found["s"]; s == nil || len(s.Waiting) != waiting || len(j.DeadLetters("s")) != letters {
		t.Errorf("found %d letters and %+v", len(j.DeadLetters("s")), found)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

// With three replicas a dispatcher goes on when a server dies, whichever it was, and so does a
// standby.
func TestJetStreamLosesAServer(t *testing.T) {
	quicktest.Skip(t, "waits up to 10 s for an election among three servers")
	nodes := natstest.Cluster(t)
	urls := nodes[0].URL + "," + nodes[1].URL + "," + nodes[2].URL
	c := onStreams(t, urls, "three", map[string]string{"jetstream_replicas": "3", "backoff": "1s", "max_backoff": "1s", "max_attempts": "100"})
	r := newInbox(t)
	d := run(t, c)
	d.mustPost(201, "/v1/subscriptions", oneNotice, fmt.Sprintf(`{"url":%q}`, r.url))
	var want []string
	send := func(d *instance) {
		id := fmt.Sprint(len(want))
		d.notice(202, id)
		want = append(want, id)
	}
	send(d)
	// Whichever leads the streams, and where the dispatcher is connected, one of them matters: the
	// leader.
	leader := natstest.Leader(t, urls, "three_"+dispatch.NoticesName)
	nodes[slices.IndexFunc(nodes, func(n *natstest.Server) bool { return n.Name == leader })].Stop()
	for range 20 {
		send(d)
	}
	if err := d.stop(); err != nil {
		t.Error(err)
	}
	standby := run(t, c)
	for range 5 {
		send(standby)
	}
	r.accept()
	if ids := r.await(t, len(want)); !slices.Equal(ids, want) {
		t.Errorf("delivered %v, want %v", ids, want)
	}
	if err := standby.stop(); err != nil {
		t.Error(err)
	}
}
