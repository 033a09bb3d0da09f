package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dyno/parts/daemon"
	"dyno/parts/wal"
	"dyno/parts/wal/segment"
	"dyno/parts/wal/segment/faultfs"
	"dyno/services/notify/journal"
)

// Tests that look inside run a whole dispatcher in a bubble of testing/synctest: on a disk in memory, with
// receivers in memory. Its clock stands still while anything runs, so what happens when is exact.

// peers are the receivers that the client "memory" reaches, by the host of their address.
var peers sync.Map

func init() {
	newClients["memory"] = func(c Config) client {
		return &http.Client{Transport: inMemory{}, Timeout: c.Timeout, CheckRedirect: stay}
	}
}

type inMemory struct{}

func (inMemory) RoundTrip(r *http.Request) (*http.Response, error) {
	p, ok := peers.Load(r.URL.Host)
	if !ok {
		return nil, errors.New("no such host")
	}
	return p.(*peer).serve(r)
}

// peer is a receiver in memory.
type peer struct {
	host string

	mu      sync.Mutex         // guards the fields below
	respond func(hook) outcome // status 0: it does not answer; nil: 200
	hooks   []hook
	flying  int
	most    int // that were in flight at once
}

// hook is a webhook that came.
type hook struct {
	path string
	at   time.Time
	ids  []string
	keys []string
}

var hostNumber atomic.Int64

// newPeer makes a receiver, which answers 200 if respond is nil.
func newPeer(t *testing.T, respond func(hook) outcome) *peer {
	p := &peer{host: "peer" + strconv.FormatInt(hostNumber.Add(1), 10) + ".test", respond: respond}
	peers.Store(p.host, p)
	t.Cleanup(func() { peers.Delete(p.host) })
	return p
}

// answers changes what it answers.
func (p *peer) answers(respond func(hook) outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.respond = respond
}

func (p *peer) serve(r *http.Request) (*http.Response, error) {
	h, err := readHook(r)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	p.hooks = append(p.hooks, h)
	p.flying++
	p.most = max(p.most, p.flying)
	respond := p.respond
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		p.flying--
		p.mu.Unlock()
	}()
	o := outcome{status: http.StatusOK}
	if respond != nil {
		o = respond(h)
	}
	if o.status == 0 {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	answer := &http.Response{StatusCode: o.status, Header: http.Header{}, Body: http.NoBody, Request: r}
	if o.after > 0 {
		answer.Header.Set("Retry-After", strconv.Itoa(int(o.after/time.Second)))
	}
	return answer, nil
}

func readHook(r *http.Request) (h hook, err error) {
	type envelope struct {
		Data struct{ ID, Key string }
	}
	body, err := io.ReadAll(r.Body)
	var all []envelope
	if !bytes.HasPrefix(body, []byte("[")) {
		body = slices.Concat([]byte("["), body, []byte("]"))
	}
	err = errors.Join(err, json.Unmarshal(body, &all))
	h = hook{path: r.URL.Path, at: time.Now()}
	for _, e := range all {
		h.ids, h.keys = append(h.ids, e.Data.ID), append(h.keys, e.Data.Key)
	}
	return h, err
}

// seen is what came to a path, in order; "": to any.
func (p *peer) seen(path string) (hooks []hook) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, h := range p.hooks {
		if path == "" || h.path == path {
			hooks = append(hooks, h)
		}
	}
	return hooks
}

// ids is the notices that came to a path, in order.
func (p *peer) ids(path string) (ids []string) {
	for _, h := range p.seen(path) {
		ids = append(ids, h.ids...)
	}
	return ids
}

func (p *peer) inFlight() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.flying
}

// world is a dispatcher and the disk that it is on.
type world struct {
	fail    func(format string, args ...any)
	c       Config
	disk    *faultfs.FS
	d       *Dispatcher
	visited atomic.Int64 // records of the notices that were read
	told    []error      // by Config.Fail
	running bool
}

// newWorld starts a dispatcher of the tuned assembly with some settings.
func newWorld(t *testing.T, settings map[string]string, also ...func(*Config)) *world {
	t.Helper()
	w := &world{fail: t.Errorf, disk: faultfs.New()}
	choice, err := Assembly().Resolve(daemon.Tuned, settings)
	if err != nil {
		t.Fatal(err)
	}
	w.c = FromChoice(choice)
	if settings["workers"] == "" {
		w.c.Workers = 8
	}
	w.c.Client = "memory"
	w.c.Fail = func(err error) { w.told = append(w.told, err) }
	w.c.openBackend = func(c Config, name string) (wal.Backend, error) {
		o := c.segmentOptions(name)
		o.FS, o.SegmentBytes, o.Reserve, o.Log = w.disk, 16<<10, o.Reserve/16, slog.New(slog.DiscardHandler)
		files, err := segment.Open(path.Join("/", name), o)
		if err == nil && name == noticesLog {
			return watched{files, &w.visited}, nil
		}
		return files, err
	}
	for _, f := range also {
		f(&w.c)
	}
	w.start()
	t.Cleanup(func() {
		if w.running { // the test has failed
			w.kill()
		}
	})
	return w
}

// watched counts the records that are read.
type watched struct {
	*segment.Files
	visited *atomic.Int64
}

func (b watched) Scan(from uint64, visit func(uint64, []byte) error) error {
	return b.Files.Scan(from, func(seq uint64, record []byte) error {
		b.visited.Add(1)
		return visit(seq, record)
	})
}

func (w *world) start() {
	d, err := New(w.c)
	if err != nil {
		w.fail("starting: %v", err)
		panic(err) // nothing can follow, and not every caller has a test to end
	}
	w.d, w.running = d, true
}

// stop ends the dispatcher in order, within ten seconds.
func (w *world) stop() (left int) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	w.running = false
	left, err := w.d.Close(ctx)
	if err != nil {
		w.fail("stopping: %v", err)
	}
	if n := w.d.count(); n != left {
		w.fail("%d are left, but the lanes and the log hold %d", left, n)
	}
	return left
}

// kill ends it as the end of its process would.
func (w *world) kill() {
	w.running = false
	if _, err := w.d.abandon(context.Background()); err != nil {
		w.fail("killing: %v", err)
	}
}

// checkpoint lets the house-keeper write one.
func (w *world) checkpoint() { pass(checkpointEvery + 2*expireEvery) }

func (w *world) subscribe(address string, wishes ...func(*wish)) *subscription {
	if address[0] != 'h' {
		address = "http://" + address
	}
	asked := wish{URL: &address}
	for _, f := range wishes {
		f(&asked)
	}
	sub, _, err := w.d.subscribe(asked)
	if err != nil {
		w.fail("subscribing: %v", err)
	}
	return sub
}

func (w *world) change(sub *subscription, f func(*journal.Definition)) {
	if _, err := w.d.change(sub.id, func(def *journal.Definition) error { f(def); return nil }); err != nil {
		w.fail("changing a subscription: %v", err)
	}
}

func ofTypes(types ...string) func(*wish) { return func(w *wish) { w.Types = &types } }
func withRate(r float64) func(*wish)      { return func(w *wish) { w.RatePerS = &r } }
func withConcurrency(n int) func(*wish)   { return func(w *wish) { w.Concurrency = &n } }
func inBatchesOf(n int) func(*wish)       { return func(w *wish) { w.Batch = &n } }
func aNotice(id, key, kind string) *notice {
	return &notice{ID: id, Key: key, Type: kind, Payload: []byte("1")}
}

// aSeries is n notices of a key each, or of one key if it is given.
func aSeries(prefix string, n int, key, kind string) (out []*notice) {
	for i := range n {
		id := fmt.Sprintf("%s%05d", prefix, i)
		k := key
		if k == "" {
			k = id
		}
		out = append(out, aNotice(id, k, kind))
	}
	return out
}

func idsOf(notices []*notice) (ids []string) {
	for _, n := range notices {
		ids = append(ids, n.ID)
	}
	return ids
}

func (w *world) post(notices ...*notice) error {
	_, _, err := w.d.accept(context.Background(), notices)
	return err
}

func (w *world) mustPost(notices ...*notice) {
	if err := w.post(notices...); err != nil {
		w.fail("posting: %v", err)
	}
}

// pass lets time pass, and what it brings about be done.
func pass(d time.Duration) {
	time.Sleep(d) // on the bubble's clock
	synctest.Wait()
}

// settle waits up to an hour until nothing is pending.
func (w *world) settle() Stats {
	for range 36_000 {
		if synctest.Wait(); w.d.pending.Load() == 0 {
			break
		}
		pass(100 * time.Millisecond)
	}
	s := w.sums()
	if s.Pending != 0 {
		w.fail("%d are pending", s.Pending)
	}
	return s
}

// sums reads the statistics and holds that they add up.
func (w *world) sums() Stats {
	synctest.Wait()
	s := w.d.Stats(maxListed)
	if s.Accepted != s.Delivered+s.Dead+int64(s.Pending) || int64(s.Pending) != w.d.pending.Load() {
		w.fail("the sums do not add up: %+v, and %d are owed", s, w.d.pending.Load())
	}
	for _, row := range s.Subscriptions {
		if row.Accepted != row.Delivered+row.Dead+int64(row.Pending) || row.Pending < 0 || row.Backlog < 0 || row.DeadLetters > int(row.Dead)+row.Pending {
			w.fail("a row does not add up: %+v", row)
		}
	}
	return s
}

func (s Stats) of(sub *subscription) StatsRow {
	i := slices.IndexFunc(s.Subscriptions, func(r StatsRow) bool { return r.ID == sub.id })
	if i < 0 {
		return StatsRow{}
	}
	return s.Subscriptions[i]
}
