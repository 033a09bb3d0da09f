package findings

import (
	"testing"

	"dyno/lab/record"
)

func waiting(waits ...record.Wait) func(*testing.T) Subject {
	return func(t *testing.T) Subject { return traced(t, waits...) }
}

// The subjects' ten clients make ten goroutine-seconds of request time in their trace of a second.
func TestContention(t *testing.T) {
	const put = "sync.(*Mutex).Lock < main.put" + handler
	held := func(t *testing.T) Subject {
		s := traced(t, wait("sync", put, 4, "sync.(*Mutex).Unlock < main.put"+handler))
		take(t, s.Profiled, record.ProfileMutex, []string{record.ValueContentions, record.ValueDelay}, stacksOf{
			"sync.(*Mutex).Unlock < main.flush < main.put" + handler: {3000, 6 * second},
			"sync.(*Mutex).Unlock < main.get" + handler:              {1000, 2 * second}})
		return s
	}
	byProfile := func(delay int64) func(t *testing.T) Subject {
		return func(t *testing.T) Subject {
			s := Subject{Profiled: profiled(t)}
			take(t, s.Profiled, record.ProfileMutex, []string{record.ValueContentions, record.ValueDelay}, stacksOf{
				"sync.(*Mutex).Unlock < main.put" + handler: {3000, delay}})
			return s
		}
	}
	check(t, []expectation{
		{name: "with its holder", kind: KindContention, fires: true, place: "main.put", subject: held,
			evidence: map[string]float64{"lock_share": 0.4, "lock_mean_wait": 4000, "lock_waits": 1000, "contentions_per_request": 2},
			words:    []string{"40%", "4000 us each", "It is held by main.flush", "75%"}},
		{name: "whose profile missed it", kind: KindContention, fires: true, words: []string{"It is held by main.renew"}, subject: func(t *testing.T) Subject {
			s := traced(t, wait("sync", put, 4, "sync.(*Mutex).Unlock < main.renew.deferwrap1 < main.renew"+handler))
			take(t, s.Profiled, record.ProfileMutex, []string{record.ValueContentions, record.ValueDelay}, stacksOf{"sync.(*Mutex).Unlock < main.get" + handler: {10, second / 100}})
			return s
		}},
		{name: "short waits, however many", kind: KindContention, subject: waiting(wait("sync", put, 0.4, ""))},
		{name: "the collector's semaphore is no lock", kind: KindContention, subject: waiting(wait("sync", "runtime.gcMarkDone < runtime.gcAssistAlloc < runtime.mallocgc"+handler, 5, ""))},
		{name: "by the mutex profile alone", kind: KindContention, fires: true, place: "main.put", subject: byProfile(10 * second), evidence: map[string]float64{"lock_share": 0.5}},
		{name: "little by the mutex profile alone", kind: KindContention, subject: byProfile(second / 2)},
		{name: "consumers starve", kind: KindContention, fires: true, words: []string{"Consumers starve"},
			subject: waiting(wait("sync", "sync.(*Mutex).Lock < main.take < main.consume", 3, "sync.(*Mutex).Unlock < main.put"+handler), wait("sync", put, 1, "sync.(*Mutex).Unlock < main.put"+handler))},
		{name: "consumers in the way", kind: KindContention, fires: true, words: []string{"Consumers block producers"},
			subject: waiting(wait("sync", put, 3, "sync.(*Mutex).Unlock < main.take < main.consume"))},
		{name: "producers overload", kind: KindContention, fires: true, words: []string{"Producers overload"},
			subject: waiting(wait("sync", put, 3, "sync.(*Mutex).Unlock < main.put"+handler), wait("sync", put, 1, "sync.(*Mutex).Unlock < main.take < main.consume"))},
	})
}

func TestQueues(t *testing.T) {
	const send, answer = "runtime.chansend1 < main.submit" + handler, "runtime.chanrecv2 < main.consume < main.start.func1"
	busy := wait("chan send", send, 6, answer)
	busy.WakerBusy = 0.97
	idle := wait("chan send", send, 6, answer)
	idle.WakerBusy = 0.1
	file := wait("system call", "syscall.Fsync < internal/poll.(*FD).Fsync < os.(*File).Sync < main.flush < main.consume < main.start.func1", 0.9, "")
	check(t, []expectation{
		{name: "the consumer is busy", kind: KindQueue, fires: true, place: "main.submit", subject: waiting(busy),
			evidence: map[string]float64{"queue_share": 0.6, "waker_busy": 0.97}, words: []string{"main.consume", "busy 97%", "than one goroutine handles"}},
		{name: "the consumer waits for a file", kind: KindQueue, fires: true, subject: waiting(idle, file), words: []string{"Those goroutines wait too, for a file in main.flush"}},
		{name: "hardly ever full", kind: KindQueue, subject: waiting(wait("chan send", send, 0.5, answer))},
		{name: "workers without work", kind: KindQueue, subject: waiting(wait("chan receive", "runtime.chanrecv2 < main.consume", 9, send))},
		{name: "a timer", kind: KindQueue, subject: waiting(wait("select", "runtime.selectgo < main.poll"+handler, 6, ""))},
	})
}

func TestPools(t *testing.T) {
	const query = "runtime.selectgo < database/sql.(*DB).conn < database/sql.(*DB).query < database/sql.(*DB).QueryContext < main.load" + handler
	gauge := func(perSecond float64, falls bool) func(*testing.T) Subject {
		return func(t *testing.T) Subject {
			return others(series(50, func(i int) *record.Server {
				v := 100 + perSecond*float64(i)/10
				if falls && i == 25 {
					v = 0
				}
				return &record.Server{Gauges: map[string]float64{"db_wait_seconds": v, "db_wait_count": float64(i) * 1e6}}
			}))
		}
	}
	check(t, []expectation{
		{name: "in the trace", kind: KindPool, fires: true, place: "main.load",
			subject:  waiting(wait("select", query, 7, "database/sql.(*DB).putConnDBLocked < database/sql.(*Rows).Close < main.report"+handler)),
			evidence: map[string]float64{"pool_share": 0.7, "pool_mean_wait": 7000}, words: []string{"main.report", "returns them"}},
		{name: "often but short", kind: KindPool, subject: waiting(wait("select", query, 0.5, "database/sql.(*DB).putConnDBLocked"))},
		{name: "pgxpool below fasthttp", kind: KindPool, fires: true, place: "main.load",
			subject: waiting(wait("select", "runtime.selectgo < golang.org/x/sync/semaphore.(*Weighted).Acquire < github.com/jackc/puddle/v2.(*Pool[...]).acquire < github.com/jackc/pgx/v5/pgxpool.(*Pool).Acquire < main.load < main.handle < github.com/valyala/fasthttp.(*Server).serveConn < github.com/valyala/fasthttp.(*workerPool).workerFunc", 7,
				"golang.org/x/sync/semaphore.(*Weighted).Release < github.com/jackc/puddle/v2.(*Resource[...]).Release < github.com/jackc/pgx/v5/pgxpool.(*Conn).Release.func1")),
			evidence: map[string]float64{"pool_share": 0.7}},
		// 1,000 requests/s of 10 ms each are 10 in flight.
		{name: "by a gauge", kind: KindPool, fires: true, subject: gauge(5, false), evidence: map[string]float64{"pool_share": 0.5, "db_wait_seconds": 5}},
		{name: "by a gauge, little", kind: KindPool, subject: gauge(0.2, false)},
		{name: "a gauge that is no sum", kind: KindPool, subject: gauge(5, true)},
	})
}

func TestDeadlines(t *testing.T) {
	const below = "internal/poll.(*FD).Read < net.(*conn).Read < github.com/lib/pq.(*conn).recv < database/sql.(*DB).queryDC < database/sql.(*DB).query < database/sql.(*DB).QueryContext < "
	check(t, []expectation{
		{name: "Query", kind: KindDeadlines, fires: true, place: "main.load", subject: waiting(wait("network", below+"database/sql.(*DB).Query < main.load"+handler, 2, "")),
			evidence: map[string]float64{"deaf_share": 0.2}, words: []string{"database/sql.(*DB).Query in main.load"}},
		{name: "http.Get", kind: KindDeadlines, fires: true, place: "main.fetch",
			subject: waiting(wait("select", "runtime.selectgo < net/http.(*persistConn).roundTrip < net/http.(*Client).Do < net/http.(*Client).Get < net/http.Get < main.fetch"+handler, 2, "net/http.(*persistConn).readLoop")),
			words:   []string{"net/http.Get in main.fetch"}},
		{name: "QueryContext", kind: KindDeadlines, subject: waiting(wait("network", below+"main.load"+handler, 2, ""))},
		{name: "seldom", kind: KindDeadlines, subject: waiting(wait("network", below+"database/sql.(*DB).Query < main.load"+handler, 0.2, ""))},
		{name: "not for a request", kind: KindDeadlines, subject: waiting(wait("network", below+"database/sql.(*DB).Query < main.tick", 2, ""))},
	})
}

func TestStatementsInTheTrace(t *testing.T) {
	const prepare = "internal/poll.(*FD).Read < net.(*conn).Read < github.com/go-sql-driver/mysql.(*mysqlConn).Prepare < database/sql.ctxDriverPrepare < database/sql.(*DB).queryDC < main.load"
	check(t, []expectation{
		{name: "waited for", kind: KindStatements, fires: true, place: "main.load", subject: waiting(wait("network", prepare+handler, 3, "")), evidence: map[string]float64{"prepare_wait_share": 0.3}},
		{name: "when it starts", kind: KindStatements, subject: waiting(wait("network", prepare+" < main.main", 3, ""))},
	})
}

func TestDialsInTheTrace(t *testing.T) {
	dialling := func(n int) func(*testing.T) Subject {
		return func(t *testing.T) Subject {
			s := traced(t)
			s.Profiled.FixtureTrace.Groups = []record.Group{
				{Entry: record.Frame{Function: "net/http.(*Transport).startDialConnForLocked.func1"}, Goroutines: n},
				{Entry: record.Frame{Function: "net/http.(*conn).serve"}, Goroutines: 900}}
			return s
		}
	}
	check(t, []expectation{
		{name: "one for every other request", kind: KindConnections, fires: true, subject: dialling(500), evidence: map[string]float64{"dials_per_request": 0.5}},
		{name: "when it starts", kind: KindConnections, subject: dialling(10)},
	})
}

func TestAcceptQueue(t *testing.T) {
	run := func(a record.System) func(*testing.T) Subject {
		return func(t *testing.T) Subject { return others(&record.Run{System: a}) }
	}
	check(t, []expectation{
		{name: "overflows", kind: KindAcceptQueue, fires: true, subject: run(record.System{Seen: true, ListenOverflows: 12}), words: []string{"12 connections a second"}},
		{name: "nearly", kind: KindAcceptQueue, fires: true, subject: run(record.System{Seen: true, AcceptQueue: 120, AcceptLimit: 128}), words: []string{"nearly", "94% of its capacity of 128"}},
		{name: "has room", kind: KindAcceptQueue, subject: run(record.System{Seen: true, AcceptQueue: 12, AcceptLimit: 128})},
		{name: "one in an hour", kind: KindAcceptQueue, subject: run(record.System{Seen: true, ListenOverflows: 1. / 3600})},
		{name: "not seen", kind: KindAcceptQueue, subject: run(record.System{ListenOverflows: 12})},
	})
}
