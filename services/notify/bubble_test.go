package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dyno/parts/assembly"
	"dyno/parts/vfs/faultdisk"
	"dyno/parts/wal"
	"dyno/parts/wal/segment"
	"dyno/services/notify/api"
	"dyno/services/notify/dispatch"
	"dyno/services/notify/notice"
)

// Tests that look inside run a whole dispatcher in a bubble of testing/synctest: on a disk in
// memory, with receivers in memory. Its clock stands still while anything runs, so what happens
// when is exact.

// peers are the receivers in memory, by the host of their address.
var peers sync.Map

// inMemory posts webhooks to them.
type inMemory struct{}

func (inMemory) RoundTrip(r *http.Request) (*http.Response, error) {
	p, ok := peers.Load(r.URL.Host)
	if !ok {
		return nil, errors.New("no such host")
	}
	return p.(*peer).serve(r)
}

// outcome is what a peer answers.
type outcome struct {
	status int           // 0 means that it does not answer
	after  time.Duration // Retry-After
}

// peer is a receiver in memory.
type peer struct {
	host string

	mu      sync.Mutex         // guards the fields below
	respond func(hook) outcome // nil means 200
	hooks   []hook
	flying  int
	most    int // that were in flight concurrently
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
	disk    *faultdisk.Disk
	d       *Dispatcher
	visited atomic.Int64 // records of the notices that were read
	told    []error      // what Config.Fail received
	running bool
}

// newWorld starts a dispatcher of the tuned assembly with some settings.
func newWorld(t *testing.T, settings map[string]string, also ...func(*Config)) *world {
	t.Helper()
	w := &world{fail: t.Errorf, disk: faultdisk.New()}
	choice, err := Assembly().Resolve(assembly.Tuned, settings)
	if err != nil {
		t.Fatal(err)
	}
	w.c = FromChoice(choice)
	if settings["workers"] == "" {
		w.c.Workers = 8
	}
	w.c.testing.transport = inMemory{}
	w.c.Fail = func(err error) { w.told = append(w.told, err) }
	w.c.testing.openBackend = func(o dispatch.StoreOptions, name string) (wal.Backend, error) {
		files := o.Segments(name)
		files.FS, files.SegmentBytes, files.Reserve = w.disk, 16<<10, files.Reserve/16
		log, err := segment.Open(path.Join("/", name), files)
		if err == nil && name == dispatch.NoticesName {
			return watched{log, &w.visited}, nil
		}
		return log, err
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

// checkpoint lets the maintainer write one: every 30 s, as it finds out every second.
func (w *world) checkpoint() { pass(32 * time.Second) }

func (w *world) subscribe(address string, wishes ...func(*dispatch.SubscriptionRequest)) (id string) {
	if address[0] != 'h' {
		address = "http://" + address
	}
	asked := dispatch.SubscriptionRequest{URL: &address}
	for _, f := range wishes {
		f(&asked)
	}
	def, _, err := w.d.table.Subscribe(asked)
	if err != nil {
		w.fail("subscribing: %v", err)
	}
	return def.ID
}

func (w *world) change(id string, wish func(*dispatch.SubscriptionRequest)) {
	var asked dispatch.SubscriptionRequest
	wish(&asked)
	if _, _, err := w.d.table.Update(id, asked); err != nil {
		w.fail("changing a subscription: %v", err)
	}
}

func ofTypes(types ...string) func(*dispatch.SubscriptionRequest) {
	return func(w *dispatch.SubscriptionRequest) { w.Types = &types }
}
func disabled(yes bool) func(*dispatch.SubscriptionRequest) {
	return func(w *dispatch.SubscriptionRequest) { w.Disabled = &yes }
}
func withRate(r float64) func(*dispatch.SubscriptionRequest) {
	return func(w *dispatch.SubscriptionRequest) { w.RatePerS = &r }
}
func withConcurrency(n int) func(*dispatch.SubscriptionRequest) {
	return func(w *dispatch.SubscriptionRequest) { w.Concurrency = &n }
}
func inBatchesOf(n int) func(*dispatch.SubscriptionRequest) {
	return func(w *dispatch.SubscriptionRequest) { w.Batch = &n }
}
func aNotice(id, key, kind string) *notice.Notice {
	return &notice.Notice{ID: id, Key: key, Type: kind, Payload: []byte("1")}
}

// aSeries is n notices of a key each, or of one key if it is given.
func aSeries(prefix string, n int, key, kind string) (out []*notice.Notice) {
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

func idsOf(notices []*notice.Notice) (ids []string) {
	for _, n := range notices {
		ids = append(ids, n.ID)
	}
	return ids
}

func (w *world) post(notices ...*notice.Notice) error {
	_, _, err := w.d.acceptor.Accept(context.Background(), notices)
	return err
}

func (w *world) mustPost(notices ...*notice.Notice) {
	if err := w.post(notices...); err != nil {
		w.fail("posting: %v", err)
	}
}

// scanRecords is how many records the backlog reads in one scan at most.
const scanRecords = 20_000

// pass lets time pass on the bubble's clock, and what it brings about be done.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// settle waits up to an hour until nothing is pending.
func (w *world) settle() stats {
	for range 36_000 {
		if synctest.Wait(); w.d.deliverer.Pending.Load() == 0 {
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

// sums reads the statistics and checks that they add up.
func (w *world) sums() stats {
	synctest.Wait()
	s := stats{w.d.api.Stats(api.MaxListed)}
	if s.Accepted != s.Delivered+s.Dead+int64(s.Pending) || int64(s.Pending) != w.d.deliverer.Pending.Load() {
		w.fail("the sums do not add up: %+v, and %d are owed", s, w.d.deliverer.Pending.Load())
	}
	for _, row := range s.Subscriptions {
		if row.Accepted != row.Delivered+row.Dead+int64(row.Pending) || row.Pending < 0 || row.Backlog < 0 || row.DeadLetters > int(row.Dead)+row.Pending {
			w.fail("a row does not add up: %+v", row)
		}
	}
	return s
}

// stats are the statistics.
type stats struct{ api.Stats }

// of returns a subscription's row.
func (s stats) of(id string) api.StatsRow {
	i := slices.IndexFunc(s.Subscriptions, func(r api.StatsRow) bool { return r.ID == id })
	if i < 0 {
		return api.StatsRow{}
	}
	return s.Subscriptions[i]
}
