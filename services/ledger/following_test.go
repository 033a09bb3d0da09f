package ledger

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/codes"

	"dyno/parts/daemon"
	"dyno/parts/quicktest"
	"dyno/parts/servicetest"
	"dyno/parts/servicetest/program"
	"dyno/parts/servicetest/proxy"
	"dyno/services/ledger/ledgertest"
	"dyno/services/ledger/sim"
	"dyno/services/ledger/sim/chain"
	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/history"
)

// complete is the ledger range that a service claims.
func complete(t testing.TB, url string) (has history.Set, newest uint32, hash string) {
	t.Helper()
	var info infoAnswer
	ask(t, url, "server_info", struct{}{}, &info)
	has, err := history.ParseSet(info.Info.Complete)
	if err != nil {
		t.Fatal(err)
	}
	return has, info.Info.Validated.Seq, info.Info.Validated.Hash
}

// grow adds ledgers to a chain and returns the index of the last.
func grow(t testing.TB, c *chain.Chain, by int) (tip uint32) {
	t.Helper()
	for range by {
		var err error
		if tip, err = c.Grow(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return tip
}

// hasAll waits until a service has all ledgers from an index on.
func hasAll(t testing.TB, p *program.Process, url string, from, to uint32) {
	t.Helper()
	until(t, p, fmt.Sprintf("ledgers %d to %d", from, to), func() bool {
		has, _, _ := complete(t, url)
		return len(has.Missing(history.Range{From: from, To: to})) == 0
	})
}

// endsClean stops a service and checks that its folder has exactly the given ledgers, all of them
// true.
func endsClean(t testing.TB, p *program.Process, dir string, s *sim.Sim, from, to uint32) {
	t.Helper()
	ends(t, p)
	if has, _ := stored(t, dir); has != fmt.Sprintf("%d-%d", from, to) {
		t.Errorf("stored: %s, want %d-%d", has, from, to)
	}
	ledgertest.ReadTruth(t, s.URL(), from, to).Holds(t, ledgersync, dir)
}

// An early request is answered once the newest ledgers are rendered, and not before.
func TestReadyWhenWarm(t *testing.T) {
	t.Parallel()
	s := serveChain(t, sim.Config{})
	dir := t.TempDir()
	run(t, 0, syncing(dir, first, last, s.URL())...)
	service, early, warm := Service(), make(chan net.Conn, 1), atomic.Bool{}
	start := service.Start
	service.Start = func(ctx context.Context, env *daemon.Env) (daemon.Running, error) {
		conn, err := net.Dial("tcp", env.Listen.Addr().String())
		if err != nil {
			return daemon.Running{}, err
		}
		body := fmt.Sprintf(`{"method":"ledger","params":[{"ledger_index":%d}]}`, last)
		fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		early <- conn
		running, err := start(ctx, env)
		if err == nil {
			err = running.Ready(ctx)
		}
		warm.Store(err == nil)
		return running, err
	}
	p := program.Inside(func(ctx context.Context, args []string, stdout, stderr io.Writer) int {
		return daemon.Run(ctx, service, args, func(string) (string, bool) { return "", false }, stdout, stderr)
	})(t, serving(dir)...)
	conn := <-early
	defer conn.Close()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil || !warm.Load() || !strings.Contains(string(text), truth(t, s, last).Hash.String()) {
		t.Errorf("asked early, it answers %s (%v); it was warm: %t", text, err, warm.Load())
	}
	_, debug := ready(t, p)
	if resp, err := asker.Get(debug + "/readyz"); err != nil {
		t.Error(err)
	} else if resp.Body.Close(); resp.StatusCode != http.StatusOK {
		t.Errorf("readyz: %d", resp.StatusCode)
	}
	ends(t, p)
}

// asking asks a service continuously while it follows, and compares every answer with the truth.
type asking struct {
	url    string
	source *sim.Sim
	newest uint32 // seen so far
}

// once asks for the range, the newest ledger, and one other ledger.
func (a *asking) once(t testing.TB) {
	has, newest, hash := complete(t, a.url)
	if newest < a.newest || !has.Has(newest) || hash != truth(t, a.source, newest).Hash.String() {
		t.Errorf("after %d it says that ledger %d, %s, is the newest of %v", a.newest, newest, hash, has)
	}
	a.newest = newest
	var l ledgerAnswer
	ask(t, a.url, "ledger", map[string]any{"ledger_index": "validated", "binary": true}, &l)
	if l.Index < newest || l.Hash != truth(t, a.source, l.Index).Hash.String() {
		t.Errorf("after %d the newest is %d, %s", newest, l.Index, l.Hash)
	}
	r := has[rand.IntN(len(has))]
	index := r.From + rand.Uint32N(uint32(r.Len()))
	var whole map[string]any
	ask(t, a.url, "ledger", map[string]any{"ledger_index": index, "transactions": true, "expand": true, "binary": true}, &whole)
	if whole["error"] != nil {
		t.Errorf("ledger %d of %v: %v", index, has, whole)
		return
	}
	proves(t, whole)
	isTrue(t, a.url, a.source, index)
	id := xrpl.TransactionID(truth(t, a.source, index).Transactions[0].Blob).String()
	var tx struct {
		Error string
		Index uint32 `json:"ledger_index"`
	}
	if ask(t, a.url, "tx", map[string]any{"transaction": id, "binary": true}, &tx); tx.Index != index {
		t.Errorf("transaction %s of ledger %d, which is there: %+v", id, index, tx)
	}
}

// While the service follows, it has the ledgers that it claims, whole and true, and its newest
// ledger only gets newer. The gRPC stream sends all of them in order meanwhile.
func TestAnswersWhileFollowing(t *testing.T) {
	t.Parallel()
	s := serveChain(t, sim.Config{Spec: small})
	dir := t.TempDir()
	run(t, 0, syncing(dir, first, last, s.URL())...)
	p := ledgersync(t, serving(dir, "--follow", "--server", s.WS(), "--grpc", "127.0.0.1:0", "--log-level", "info")...)
	url, _ := ready(t, p)
	const askers, stretches, growth = 3, 8, 3
	const tip = last + stretches*growth
	done := make(chan struct{})
	var all sync.WaitGroup
	var mean [askers]asking
	for i := range mean {
		a := &mean[i]
		*a = asking{url: url, source: s}
		all.Go(func() {
			for over := false; !over && !t.Failed(); { // once more when it is over, and so at least once
				select {
				case <-done:
					over = true
				default:
				}
				a.once(t)
			}
		})
	}
	var streamed []*xrpl.Ledger
	var code codes.Code
	all.Go(func() { streamed, code = served{grpc: logged(t, p, "grpc")}.stream(t, first, tip-first+1) })
	for i := range stretches { // some of them while the previous one is being fetched
		to := grow(t, s.Chain(), growth)
		if i%2 == 0 {
			hasAll(t, p, url, first, to)
		}
	}
	hasAll(t, p, url, first, tip)
	close(done)
	all.Wait()
	if code != codes.OK {
		t.Errorf("the stream ended with %v", code)
	}
	isWhole(t, s, streamed, first, tip-first+1)
	endsClean(t, p, dir, s, first, tip)
}

// A socket that dies while the service follows, by closing or by falling silent, alone or beside a
// healthy one, costs no ledger.
func TestFollowsThroughDeadSockets(t *testing.T) {
	for name, c := range map[string]struct {
		beside bool
		die    func(*proxy.Proxy)
	}{
		"cut, alone":                   {false, (*proxy.Proxy).Cut},
		"silent, alone":                {false, (*proxy.Proxy).Silence},
		"cut, beside a healthy one":    {true, (*proxy.Proxy).Cut},
		"silent, beside a healthy one": {true, (*proxy.Proxy).Silence},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serveChain(t, sim.Config{Spec: small})
			w := proxy.New(t, strings.TrimPrefix(s.WS(), "ws://"))
			dir := t.TempDir()
			run(t, 0, syncing(dir, first, last, s.URL())...)
			args := serving(dir, "--follow", "--server", "ws://"+w.Addr())
			if c.beside {
				args = append(args, "--server", s.WS())
			}
			p := ledgersync(t, args...)
			url, _ := ready(t, p)
			hasAll(t, p, url, first, grow(t, s.Chain(), 1)) // all of them report it: they are connected
			c.die(w)
			hasAll(t, p, url, first, grow(t, s.Chain(), 3))
			tip := grow(t, s.Chain(), 2)
			hasAll(t, p, url, first, tip)
			endsClean(t, p, dir, s, first, tip)
		})
	}
}

// blames are the servers with faults in a program's metrics.
func blames(t testing.TB, debug string) (servers []string) {
	t.Helper()
	resp, err := asker.Get(debug + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if labels, ok := strings.CutPrefix(lines.Text(), "ripple_server_blamed_total{"); ok {
			_, server, _ := strings.Cut(labels, `server="`)
			server, _, _ = strings.Cut(server, `"`)
			servers = append(servers, server)
		}
	}
	return servers
}

// The tip of another chain, further on, is neither believed nor stored, whatever other servers
// there are.
func TestTipOfALiar(t *testing.T) {
	for name, byQuorum := range map[string]bool{"against two": false, "against the validators": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serveChain(t, sim.Config{Spec: small})
			other := small
			other.Seed++
			liar := serveChain(t, sim.Config{Spec: other})
			dir := t.TempDir()
			run(t, 0, syncing(dir, first, last, s.URL())...)
			args := serving(dir, "--follow", "--server", liar.WS(), "--server", s.WS())
			if byQuorum {
				args = append(args, ways(s, unlOf(t, s))["a quorum"]...)
			} else {
				args = append(args, "--server", serveChain(t, sim.Config{Chain: s.Chain()}).WS())
			}
			p := ledgersync(t, args...)
			url, debug := ready(t, p)
			until(t, p, "a ledger to be followed", func() bool { // validations are not repeated: it must be listening
				_, newest, _ := complete(t, url)
				if byQuorum && newest == last {
					grow(t, liar.Chain(), 1)
					grow(t, s.Chain(), 1)
				}
				return !byQuorum || newest > last
			})
			var tip uint32
			for range 4 {
				grow(t, liar.Chain(), 5)
				tip = grow(t, s.Chain(), 2)
				hasAll(t, p, url, first, tip)
			}
			if _, newest, _ := complete(t, url); newest != tip {
				t.Errorf("the newest is %d, want %d", newest, tip)
			}
			guilty := blames(t, debug)
			if slices.ContainsFunc(guilty, func(server string) bool { return server != liar.WS() }) {
				t.Errorf("honest servers have faults: %v", guilty)
			}
			missing := []string{"ripple_server_troubles_total"}
			if len(guilty) == 0 { // the liar was not asked, or not in time
				missing = append(missing, "ripple_server_blamed_total")
			}
			servicetest.Board(t, debug, "/debug/ledger/", missing...)
			endsClean(t, p, dir, s, first, tip)
		})
	}
}

// A follower that is killed repeatedly while it catches up leaves holes only where it continues.
func TestKilledWhileFollowing(t *testing.T) {
	quicktest.Skip(t, "builds the program")
	t.Parallel()
	s := serveChain(t, sim.Config{Spec: small})
	relay := ledgertest.NewRelay(t, s.URL())
	dir := filepath.Join(t.TempDir(), "history")
	run(t, 0, syncing(dir, first, last, s.URL())...)
	start := program.Binary(builds.Program(t, "dyno/services/ledger/cmd/ledgersync"))
	follow := func() *program.Process {
		return start(t, "follow", "--data", dir, "--server", relay.URL, "--debug", "127.0.0.1:0")
	}
	holes := 0
	for _, stays := range []uint32{3, 0, 7} { // the new ledger that does not arrive
		tip := grow(t, s.Chain(), 9)
		hangs := tip - 8 + stays
		relay.Traffic()
		relay.Decide(func(a ledgertest.Ask) ledgertest.Verdict {
			if a.Whole && a.Index == hangs {
				return ledgertest.Hang
			}
			return ledgertest.Pass
		})
		p := follow()
		relay.AwaitOr(t, p.Ended(), "all others to be answered", func(x ledgertest.Traffic) bool {
			return x.Asked[hangs] > 0 && len(x.Answered) >= int(tip-hangs)
		})
		p.Kill()
		if code := p.Wait(t); code != -1 {
			t.Fatalf("it ended with %d before it was killed: %s", code, p.Stderr.String())
		}
		has, _ := stored(t, dir)
		if strings.Contains(has, ",") {
			holes++
		}
		checked(t, dir)
	}
	t.Logf("%d of 3 kills left a hole", holes)
	relay.Decide(nil)
	tip := grow(t, s.Chain(), 1)
	p := follow()
	asked := func(index uint32) {
		relay.AwaitOr(t, p.Ended(), fmt.Sprintf("ledger %d", index), func(x ledgertest.Traffic) bool { return x.Answered[index] > 0 })
	}
	asked(tip)
	next := grow(t, s.Chain(), 1)
	asked(next) // so all ledgers before it are stored
	ends(t, p)
	has, _ := stored(t, dir)
	if has == fmt.Sprintf("%d-%d", first, tip) {
		next = tip
	}
	if has != fmt.Sprintf("%d-%d", first, next) {
		t.Fatalf("stored: %s, want %d-%d", has, first, next)
	}
	ledgertest.ReadTruth(t, s.URL(), first, next).Holds(t, ledgersync, dir)
}
