// Command ceiling measures the upper bound of ledgersync's work on a machine: it fetches a range
// from a server into memory, and then proves the same answers repeatedly on all cores, without a
// network, a store, or a required order. bench/ledger compares ledgersync with it.
//
//	ceiling --server http://127.0.0.1:5005 --from 90000001 --to 90000400 --work links
//
// The work is links (answers decoded, hashed and linked: L2) or signatures (of decoded ledgers:
// what L4 adds). It is not for wrong answers: the first one ends it. It owns a goroutine for each
// core.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"dyno/parts/xrpl"
	"dyno/services/ledger/rippled"
)

func main() {
	server := flag.String("server", "", "`URL` of a server's JSON-RPC")
	from := flag.Uint("from", 0, "lowest `ledger`")
	to := flag.Uint("to", 0, "highest `ledger`")
	work := flag.String("work", "links", "links or signatures")
	checker := flag.String("signatures", "pure", "implementation of signature checks")
	length := flag.Duration("for", 5*time.Second, "`duration` of the measurement")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r, err := run(ctx, *server, uint32(*from), uint32(*to), *work, *checker, *length)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(r)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "ceiling: %v\n", err)
		os.Exit(1)
	}
}

// result is the printed result.
type result struct {
	Ledgers    int64   `json:"ledgers"`
	Signatures int64   `json:"signatures"`
	Elapsed    float64 `json:"elapsed_s"`
	Rate       float64 `json:"ledgers_per_s"`
}

// maxLedgers bounds the ledgers kept in memory: 2,000 modern ones need about 400 MB.
const maxLedgers = 2000

func run(ctx context.Context, server string, from, to uint32, work, checker string, length time.Duration) (result, error) {
	if from == 0 || to < from || to-from >= maxLedgers {
		return result{}, fmt.Errorf("--from %d --to %d is no range of 1 to %d ledgers", from, to, maxLedgers)
	}
	check, ok := xrpl.Checkers()[checker]
	if !ok {
		return result{}, fmt.Errorf("--signatures %s: this program was built without", checker)
	}
	answers, err := fetch(ctx, server, from, to)
	if err != nil {
		return result{}, err
	}
	switch work {
	case "links":
		return measure(ctx, length, len(answers), func() (func(int) (int, error), error) { return prover(answers, from) })
	case "signatures":
		ledgers, err := decode(answers)
		if err != nil {
			return result{}, err
		}
		return measure(ctx, length, len(ledgers), func() (func(int) (int, error), error) {
			v := xrpl.NewVerifier()
			return func(i int) (int, error) { return v.Signatures(&ledgers[i].Ledger, check) }, nil
		})
	}
	return result{}, fmt.Errorf("--work %s: there are links and signatures", work)
}

// measure runs pieces of work, numbered below n, on every core for the given time.
func measure(ctx context.Context, length time.Duration, n int, worker func() (do func(int) (int, error), err error)) (r result, err error) {
	var next, ledgers, signatures atomic.Int64
	all, ctx := errgroup.WithContext(ctx)
	runtime.GC()
	begin := time.Now()
	for range runtime.GOMAXPROCS(0) {
		do, err := worker()
		if err != nil {
			return r, err
		}
		all.Go(func() error {
			for once := false; (!once || time.Since(begin) < length) && ctx.Err() == nil; once = true {
				checked, err := do(int((next.Add(1) - 1) % int64(n)))
				if err != nil {
					return err
				}
				signatures.Add(int64(checked))
				ledgers.Add(1)
			}
			return ctx.Err()
		})
	}
	err = all.Wait()
	r = result{Ledgers: ledgers.Load(), Signatures: signatures.Load(), Elapsed: time.Since(begin).Seconds()}
	r.Rate = float64(r.Ledgers) / r.Elapsed
	return r, err
}

// prover decodes an answer, hashes it, and compares the hash with the parent hash in the ledger
// above, once this core has proved both.
func prover(answers [][]byte, from uint32) (func(int) (int, error), error) {
	d, err := rippled.NewDecoder("")
	if err != nil {
		return nil, err
	}
	v := xrpl.NewVerifier()
	var a rippled.Answer
	hashes, parents := make([]xrpl.Hash, len(answers)), make([]xrpl.Hash, len(answers)) // zero: not seen yet
	return func(i int) (int, error) {
		if err := d.Decode(answers[i], &a); err != nil {
			return 0, err
		}
		h, err := v.Ledger(&a.Ledger)
		if err != nil {
			return 0, err
		}
		hashes[i], parents[i] = h.Hash(), h.Parent
		for _, child := range []int{i, i + 1} {
			if child > 0 && child < len(answers) && !hashes[child-1].IsZero() && !hashes[child].IsZero() && hashes[child-1] != parents[child] {
				return 0, fmt.Errorf("ledger %d does not name ledger %d as its parent", from+uint32(child), from+uint32(child)-1)
			}
		}
		return 0, nil
	}, nil
}

func decode(answers [][]byte) ([]rippled.Answer, error) {
	d, err := rippled.NewDecoder("")
	if err != nil {
		return nil, err
	}
	out := make([]rippled.Answer, len(answers))
	for i := range answers {
		if err := d.Decode(answers[i], &out[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// maxAnswer is far above the largest ledger, in bytes.
const maxAnswer = 64 << 20

// fetch reads a range of answers without decoding them.
func fetch(ctx context.Context, server string, from, to uint32) (answers [][]byte, err error) {
	client := &http.Client{Transport: &http.Transport{}, Timeout: 30 * time.Second}
	defer client.CloseIdleConnections()
	for index := from; index <= to; index++ {
		q := fmt.Appendf(nil, `{"method":"ledger","params":[{"ledger_index":%d,"transactions":true,"expand":true,"binary":true}]}`, index)
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, server, bytes.NewReader(q))
		if err != nil {
			return nil, err
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := client.Do(req)
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
		resp.Body.Close()
		if err != nil {
			return nil, fmt.Errorf("ledger %d: %w", index, err)
		}
		answers = append(answers, body)
	}
	return answers, nil
}
