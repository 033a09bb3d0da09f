package findings

import (
	"math"
	"strings"
	"testing"

	"dyno/lab/record"
)

// expectation is a subject and the finding of one kind that Find must return or must not return.
type expectation struct {
	name     string
	kind     string
	subject  func(t *testing.T) Subject
	fires    bool
	place    string             // function of the first site
	evidence map[string]float64 // within 2%
	words    []string
}

func check(t *testing.T, tests []expectation) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt.kind+"/"+tt.name, func(t *testing.T) {
			all := Find(tt.subject(t))
			f, found := of(all, tt.kind)
			if found != tt.fires {
				t.Fatalf("found %v, want %v; all: %s", found, tt.fires, kinds(all))
			}
			if !found {
				return
			}
			if f.Next == "" || !strings.HasSuffix(f.Text, ".") {
				t.Errorf("not whole: %+v", f)
			}
			if tt.place != "" && (len(f.Sites) == 0 || f.Sites[0].Function != tt.place) {
				t.Errorf("where: %+v, want %s", f.Sites, tt.place)
			}
			for signal, want := range tt.evidence {
				if got := f.evidence(signal); math.Abs(got-want) > 0.02*want {
					t.Errorf("%s: %v, want %v (%+v)", signal, got, want, f.Evidence)
				}
			}
			for _, w := range tt.words {
				if !strings.Contains(f.Text, w) {
					t.Errorf("words: %q, want %q in it", f.Text, w)
				}
			}
		})
	}
}

func cpuOf(of stacksOf) func(*testing.T) Subject {
	return func(t *testing.T) Subject { return withCPU(t, of) }
}

func TestCPU(t *testing.T) {
	check(t, []expectation{
		{name: "by what it calls, per request", kind: KindHotPath, fires: true, place: "main.encode", subject: cpuOf(stacksOf{
			"encoding/json.(*encodeState).string < encoding/json.Marshal < main.encode" + handler: sampled(0.9),
			"main.encode" + handler: sampled(0.3),
			"main.route" + handler:  sampled(0.1),
			"runtime.scanobject < runtime.gcDrain < runtime.gcBgMarkWorker":                    sampled(0.7),
			"compress/flate.(*compressor).deflate < runtime/pprof.Do < net/http/pprof.Profile": sampled(9),
		}), evidence: map[string]float64{"hot_path_share": 0.6, "hot_path_per_request": 600, "cpu_per_request": 1000},
			words: []string{"main.encode (main.go:21)", "60%", "600 us", "by calling encoding/json.Marshal"}},
		{name: "spread evenly", kind: KindHotPath, subject: cpuOf(stacksOf{
			"main.a" + handler: sampled(0.1), "runtime.scanobject < runtime.gcDrain < runtime.gcBgMarkWorker": sampled(2)})},
		{name: "too few samples to say", kind: KindHotPath, subject: cpuOf(stacksOf{"main.a" + handler: sampled(0.9)})},

		{name: "spinning", kind: KindSpinning, fires: true, place: "main.put", subject: cpuOf(stacksOf{
			"internal/sync.(*Mutex).lockSlow < sync.(*Mutex).Lock < main.put" + handler: sampled(0.5),
			"runtime.findRunnable < runtime.schedule < runtime.park_m < runtime.mcall":  sampled(0.3),
			"main.work" + handler: sampled(1.2)}),
			evidence: map[string]float64{"lock_share": 0.25, "scheduler_share": 0.15}},
		{name: "computing", kind: KindSpinning, subject: cpuOf(stacksOf{
			"internal/sync.(*Mutex).lockSlow < sync.(*Mutex).Lock < main.put" + handler: sampled(0.2), "main.work" + handler: sampled(1.8)})},

		{name: "writing", kind: KindSyscalls, fires: true, place: "main.handle", subject: cpuOf(stacksOf{
			"internal/runtime/syscall/linux.Syscall6 < syscall.RawSyscall6 < syscall.Syscall < syscall.write < syscall.Write < internal/poll.(*FD).Write < net.(*netFD).Write < net.(*conn).Write" + handler: sampled(0.8),
			"main.work" + handler: sampled(1.2)}), words: []string{"40%", "in write", "400 us per request"}},
		{name: "the scheduler's polling is not the service's", kind: KindSyscalls, subject: cpuOf(stacksOf{
			"internal/runtime/syscall/linux.Syscall6 < internal/runtime/syscall/linux.EpollWait < runtime.netpoll < runtime.findRunnable < runtime.schedule < runtime.park_m < runtime.mcall": sampled(1),
			"main.work" + handler: sampled(1)})},

		{name: "a few calls", kind: KindSyscalls, subject: cpuOf(stacksOf{
			"syscall.Syscall < syscall.write < os.(*File).Write" + handler: sampled(0.2), "main.work" + handler: sampled(1.8)})},

		{name: "dialling", kind: KindConnections, fires: true, subject: cpuOf(stacksOf{
			"net.(*sysDialer).dialTCP < net.(*Dialer).DialContext < net/http.(*Transport).dial < net/http.(*Transport).dialConn < net/http.(*Transport).dialConnFor": sampled(0.4),
			"main.work" + handler: sampled(1.6)}), evidence: map[string]float64{"dial_share": 0.2}},
		{name: "not dialling", kind: KindConnections, subject: cpuOf(stacksOf{"main.work" + handler: sampled(2)})},

		{name: "now and then", kind: KindConnections, subject: cpuOf(stacksOf{"net.(*Dialer).DialContext < main.call" + handler: sampled(0.04), "main.work" + handler: sampled(2)})},

		{name: "in CPU time", kind: KindStatements, fires: true, place: "main.load", subject: cpuOf(stacksOf{
			"github.com/lib/pq.(*conn).prepareTo < database/sql.ctxDriverPrepare < database/sql.(*DB).queryDC < database/sql.(*DB).QueryContext < main.load" + handler: sampled(0.5),
			"main.work" + handler: sampled(1.5)})},
		{name: "run directly", kind: KindStatements, subject: cpuOf(stacksOf{
			"github.com/lib/pq.(*conn).query < database/sql.(*DB).queryDC < database/sql.(*DB).QueryContext < main.load" + handler: sampled(1.5)})},

		{name: "now and then", kind: KindStatements, subject: cpuOf(stacksOf{"database/sql.ctxDriverPrepare < main.load" + handler: sampled(0.04), "main.work" + handler: sampled(2)})},

		{name: "for clients", kind: KindHandshakes, fires: true, subject: cpuOf(stacksOf{
			"crypto/internal/fips140/bigmod.addMulVVW2048 < crypto/rsa.SignPKCS1v15 < crypto/tls.(*serverHandshakeStateTLS13).handshake < crypto/tls.(*Conn).serverHandshake < crypto/tls.(*Conn).handshakeContext < crypto/tls.(*Conn).HandshakeContext < net/http.(*conn).serve": sampled(1),
			"main.work" + handler: sampled(1)}), evidence: map[string]float64{"handshake_share": 0.5, "handshake_per_request": 500}, words: []string{"clients that connect"}},
		{name: "for outgoing connections", kind: KindHandshakes, fires: true, subject: cpuOf(stacksOf{
			"crypto/tls.(*clientHandshakeStateTLS13).handshake < crypto/tls.(*Conn).clientHandshake < crypto/tls.(*Conn).handshakeContext < net/http.(*persistConn).addTLS.func2": sampled(1),
			"main.work" + handler: sampled(1)}), words: []string{"for outgoing connections"}},
		{name: "now and then", kind: KindHandshakes, subject: cpuOf(stacksOf{"crypto/tls.(*Conn).serverHandshake < net/http.(*conn).serve": sampled(0.04), "main.work" + handler: sampled(2)})},
		{name: "encrypting only", kind: KindHandshakes, subject: cpuOf(stacksOf{
			"crypto/internal/fips140/aes/gcm.gcmAesEnc < crypto/tls.(*Conn).Write < net/http.(*conn).serve": sampled(2)})},
	})
}

func TestMisses(t *testing.T) {
	run := func(a record.System) func(*testing.T) Subject {
		return func(t *testing.T) Subject {
			return others(&record.Run{System: a, Totals: record.Totals{ThroughputPerS: 1000}})
		}
	}
	check(t, []expectation{
		{name: "half of the CPU time", kind: KindCacheMisses, fires: true, subject: run(record.System{Seen: true, TargetCPU: 1, CacheMisses: 6.25e6}),
			evidence: map[string]float64{"cache_misses_per_request": 6250, "cache-misses_share": 0.5}},
		{name: "a twentieth", kind: KindCacheMisses, subject: run(record.System{Seen: true, TargetCPU: 1, CacheMisses: 0.6e6})},
		{name: "not permitted", kind: KindCacheMisses, subject: run(record.System{Seen: true, TargetCPU: 1})},
		{name: "many", kind: KindTLBMisses, fires: true, subject: run(record.System{Seen: true, TargetCPU: 1, TLBMisses: 3e7})},
		{name: "few", kind: KindTLBMisses, subject: run(record.System{Seen: true, TargetCPU: 1, TLBMisses: 1e6})},
	})
	if got := Unseen(run(record.System{Seen: true, TargetCPU: 1})(t)); len(got) != 1 || !strings.Contains(got[0], "not permitted here") {
		t.Errorf("unseen: %q", got)
	}
	if got := Unseen(run(record.System{Seen: true, CacheMisses: 1})(t)); len(got) != 0 {
		t.Errorf("unseen although counted: %q", got)
	}
}

func TestNothingToGoBy(t *testing.T) {
	for _, s := range []Subject{{}, {Profiled: &record.Run{}}, {Saturated: []*record.Run{{}, nil}, Other: []*record.Run{{Invalid: "neighbours"}}}} {
		if got := Find(s); got == nil || len(got) != 0 {
			t.Errorf("found %s in nothing", kinds(got))
		}
	}
}

// The highest worth comes first: a leak before a hot path, the larger share before the smaller.
func TestOrder(t *testing.T) {
	s := withCPU(t, stacksOf{
		"net.(*Dialer).DialContext < main.call" + handler: sampled(0.4),
		"main.work" + handler:                             sampled(1.6)})
	s.Other = []*record.Run{series(100, func(i int) *record.Server { return &record.Server{Goroutines: int64(100 + i)} })}
	if got, want := kinds(Find(s)), KindGoroutines+" "+KindHotPath+" "+KindConnections; got != want {
		t.Errorf("order: %s, want %s", got, want)
	}
}
