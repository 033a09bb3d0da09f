package observe

import (
	"slices"
	"strings"
	"testing"

	"dyno/lab/record"
)

// waked is a wait of a request that another goroutine ends.
func waked(reason, stack, by string, seconds float64) record.Wait {
	w := wait(reason, stack+" < main.serve"+handler, seconds, 40, 6)
	w.WokenBy = line(20, by)
	return w
}

// Pools of an unknown size are shown, with who waits.
func TestPools(t *testing.T) {
	sql := waked("select", "runtime.selectgo < database/sql.(*DB).conn < database/sql.(*DB).QueryContext", "database/sql.(*DB).putConnDBLocked < main.serve"+handler, 2)
	sql.Any = 0.5
	slots := waked("chan send", "runtime.chansend1 < main.acquire", "runtime.chanrecv1 < main.release < main.serve"+handler, 1)
	either := waked("select", "runtime.selectgo < main.enter", "runtime.chanrecv1 < main.leave < main.serve"+handler, 1)
	flight := waked("chan receive", "runtime.chanrecv1 < main.shared", "runtime.closechan < main.shared < main.serve"+handler, 1)
	queue := waked("chan receive", "runtime.chanrecv1 < main.ask", "runtime.chansend1 < main.(*store).loop", 1)
	query := wait("network", "internal/poll.(*FD).Read < driver.(*conn).Query < database/sql.(*DB).queryDC < main.serve"+handler, 3, 90, 3)
	own := wait("sync", "sync.(*Mutex).Lock < database/sql.(*DB).conn < database/sql.(*DB).QueryContext < main.serve"+handler, 5, 90, 5) // has no connection yet
	r := Of(traced(nil, sql, slots, either, flight, queue, query, own))
	found := find(t, r, KindPool)
	if len(found) != 3 {
		t.Fatalf("%+v", found)
	}
	for _, o := range found {
		if !strings.Contains(o.Detail, "size not known") || o.Busy != nil || o.Low != 0 || o.High != 1 {
			t.Errorf("%+v", o)
		}
	}
	i := slices.IndexFunc(found, func(o Resource) bool { return o.Name == "database/sql.(*DB).conn" })
	if i < 0 || found[i].AnyWaits != 0.5 || found[i].Waiting != 2 || found[i].Waits != 40 || found[i].InUse != 3 {
		t.Errorf("%+v", found)
	}
	if !slices.ContainsFunc(r.NotSeen, func(s string) bool { return strings.HasPrefix(s, "sizes of pools") }) {
		t.Error(r.NotSeen)
	}
}

// Of a channel as a semaphore, the goroutines between taking and giving back are what is in use.
func TestSlotsInUse(t *testing.T) {
	take := wait("chan send", "runtime.chansend1 < main.deliver"+handler, 1, 40, 6)
	take.WokenBy = line(30, "runtime.chanrecv1 < main.deliver"+handler)
	const reading = "internal/poll.(*FD).Read < net.(*conn).Read < main.deliver" + handler
	has, before := wait("network", reading, 2.5, 40, 3), wait("network", reading, 1, 40, 3)
	has.Stack, before.Stack = line(20, reading), line(5, reading)
	found := find(t, Of(traced(nil, take, has, before)), KindPool)
	if len(found) != 1 || found[0].InUse != 2.5 || found[0].Name != "main.deliver" {
		t.Errorf("%+v", found)
	}
}

// Semaphores of package semaphore are apart by the functions that take them, and a pool of pgx is one
// whatever takes a connection of it.
func TestSemaphoresOfLibraries(t *testing.T) {
	const acquire = "runtime.selectgo < golang.org/x/sync/semaphore.(*Weighted).Acquire < "
	const pgx = acquire + "github.com/jackc/puddle/v2.(*Pool[go.shape.*uint8]).acquire < github.com/jackc/pgx/v5/pgxpool.(*Pool).Acquire < "
	upload := waked("select", acquire+"main.upload", "main.upload < main.serve"+handler, 9)
	user, order := waked("select", pgx+"main.user", "main.user < main.serve"+handler, 1), waked("select", pgx+"main.order", "main.order < main.serve"+handler, 2)
	upload.Any, user.Any, order.Any = 0.5, 0.2, 0.2
	found := find(t, Of(traced(nil, upload, user, order)), KindPool)
	if len(found) != 2 || found[0].Name != "main.upload" || found[0].AnyWaits != 0.5 ||
		found[1].Name != "github.com/jackc/pgx/v5/pgxpool.(*Pool).Acquire" || found[1].AnyWaits != 0.2 || found[1].Waiting != 3 {
		t.Errorf("%+v", found)
	}
}

// Where requests wait for what no other row explains, the first line does not say that nothing is busy.
func TestOtherWaits(t *testing.T) {
	for _, tt := range []struct {
		wait record.Wait
		want string
	}{
		{waked("chan send", "runtime.chansend1 < main.submit", "runtime.chanrecv1 < main.worker", 20), "on a channel"},
		{waked("sync.(*Cond).Wait", "sync.(*Cond).Wait < main.submit", "sync.(*Cond).Signal < main.worker", 20), "on a condition variable"},
		{waked("sync", "sync.runtime_SemacquireWaitGroup < sync.(*WaitGroup).Wait < golang.org/x/sync/singleflight.(*Group).Do < main.submit", "sync.(*WaitGroup).Done < golang.org/x/sync/singleflight.(*Group).doCall < main.submit"+handler, 20), "on a sync.WaitGroup"},
		{wait("network", "internal/poll.(*FD).Read < os.(*File).Read < bufio.(*Scanner).Scan < main.submit < main.serve"+handler, 20, 40, 20), "for a pipe, a terminal or a device"},
		{waked("chan receive", "runtime.chanrecv1 < main.submit", "runtime.chansend1 < main.publish"+handler, 20), "on a channel"}, // a message, not a slot
		{waked("select", "runtime.selectgo < net/http.(*Transport).getConn < main.submit", "net/http.(*Transport).tryPutIdleConn < net/http.(*persistConn).readLoop", 20), "for a connection of an HTTP client, perhaps of an unlimited number"},
		{wait("network", "internal/poll.(*FD).Read < net.(*conn).Read < github.com/jackc/pgx/v5.(*Conn).Exec < main.submit < main.serve"+handler, 20, 40, 20), "for an answer from downstream"},
		{wait("select", "runtime.selectgo < net/http.(*persistConn).roundTrip < net/http.(*Client).Do < main.submit < main.serve"+handler, 20, 40, 20), "for an answer from downstream"},
		// A stack does not show whether it is a connection of the client, taken over.
		{wait("network", "internal/poll.(*FD).Read < net.(*conn).Read < main.submit < main.serve"+handler, 20, 40, 20), "for a peer (a downstream or a client)"},
		{wait("network", "internal/poll.(*FD).Read < net.(*conn).Read < bufio.(*Reader).Read < github.com/coder/websocket.(*Conn).readLoop < main.submit < main.serve"+handler, 20, 40, 20), "for a peer (a downstream or a client)"},
	} {
		f := traced([]record.Group{{Entry: entry("main.worker"), Goroutines: 8, Running: 0.02, Waiting: 7.9}}, tt.wait)
		f.Looks[0].CPU = computing(0.04, "main.work")
		r := Of(f)
		if found := find(t, r, KindWait); len(found) != 1 || found[0].Detail != tt.want || found[0].Waiting != 20 || found[0].Busy != nil {
			t.Errorf("%s: %+v", tt.want, r.Resources)
		}
		if found := find(t, r, KindPool); len(found) > 0 {
			t.Errorf("%s: %+v", tt.want, found)
		}
		if strings.Contains(r.Summary, "nothing") || !strings.Contains(r.Summary, "requests that wait in main.submit (main.go:10) "+tt.want+", 20.0 at a time") {
			t.Error(r.Summary)
		}
	}
	// A single goroutine for which they wait is a row.
	f := traced([]record.Group{alone("main.(*store).loop", 0.3, 0.7, 0)}, waked("chan receive", "runtime.chanrecv1 < main.ask", "runtime.chansend1 < main.(*store).loop", 3))
	if found := find(t, Of(f), KindWait); len(found) > 0 {
		t.Errorf("%+v", found)
	}
}
