// Command ceiling is what a machine does of ledgersync's work when it does nothing else: it fetches
// a range from a server into memory, and then proves the same answers again and again on all cores,
// without a network, a store, or an order in which that must happen, and prints the ledgers as the
// windows of a job.
//
//	ceiling --server http://127.0.0.1:5005 --from 90000001 --to 90000400 --work links
//
// The work is links (answers decoded, hashed and linked: L2) or signatures (of ledgers that are
// decoded already: what L4 adds to that). It is not for wrong answers: the first one ends it. It
// owns a goroutine for each core.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"dyno/bench/peers/callers"
	"dyno/services/ledger/servers/response"
	"dyno/services/ledger/signing"
	"dyno/services/ledger/xrpl"
)

func main() {
	server := flag.String("server", "", "`URL` of a server's JSON-RPC")
	from := flag.Uint("from", 0, "lowest `ledger`")
	to := flag.Uint("to", 0, "highest `ledger`")
	work := flag.String("work", "links", "links or signatures")
	checker := flag.String("signatures", "pure", "library that checks signatures: pure or libsecp256k1")
	flag.Parse()
	callers.Main("ceiling", func(ctx context.Context) error {
		return run(ctx, os.Stdout, *server, uint32(*from), uint32(*to), *work, *checker)
	})
}

// maxLedgers bounds what is kept in memory: 2,000 modern ledgers are some 400 MB.
const maxLedgers = 2000

// run works on every core, piece by piece and over and over, until ctx ends.
func run(ctx context.Context, out io.Writer, server string, from, to uint32, work, checker string) error {
	if from == 0 || to < from || to-from >= maxLedgers {
		return fmt.Errorf("--from %d --to %d is no range of 1 to %d ledgers", from, to, maxLedgers)
	}
	check, ok := signing.Checkers()[checker]
	if !ok {
		return fmt.Errorf("--signatures %s: this program was built without", checker)
	}
	answers, err := fetch(ctx, server, from, to)
	if err != nil {
		return err
	}
	var worker func() (do func(int) error, err error)
	switch work {
	case "links":
		worker = func() (func(int) error, error) { return prover(answers, from) }
	case "signatures":
		ledgers, err := decode(answers)
		if err != nil {
			return err
		}
		worker = func() (func(int) error, error) {
			return func(i int) error { _, err := signing.Verify(&ledgers[i].Ledger, check); return err }, nil
		}
	default:
		return fmt.Errorf("--work %s: there are links and signatures", work)
	}
	runtime.GC()
	var next atomic.Int64
	return callers.Run(ctx, out, runtime.GOMAXPROCS(0), 1, func(int) (func() error, error) {
		do, err := worker()
		return func() error { return do(int((next.Add(1) - 1) % int64(len(answers)))) }, err
	})
}

// prover decodes an answer, hashes it, and holds its hash against what the ledger above it, which
// this core has proved itself before or after, says.
func prover(answers [][]byte, from uint32) (func(int) error, error) {
	d, err := response.NewDecoder("")
	if err != nil {
		return nil, err
	}
	v := xrpl.NewVerifier()
	var a response.Answer
	hashes, parents := make([]xrpl.Hash, len(answers)), make([]xrpl.Hash, len(answers)) // zero: not seen yet
	return func(i int) error {
		if err := d.Decode(answers[i], &a); err != nil {
			return err
		}
		h, err := v.Ledger(&a.Ledger)
		if err != nil {
			return err
		}
		hashes[i], parents[i] = h.Hash(), h.Parent
		for _, child := range []int{i, i + 1} {
			if child > 0 && child < len(answers) && !hashes[child-1].IsZero() && !hashes[child].IsZero() && hashes[child-1] != parents[child] {
				return fmt.Errorf("ledger %d is not built on ledger %d", from+uint32(child), from+uint32(child)-1)
			}
		}
		return nil
	}, nil
}

func decode(answers [][]byte) ([]response.Answer, error) {
	d, err := response.NewDecoder("")
	if err != nil {
		return nil, err
	}
	out := make([]response.Answer, len(answers))
	for i := range answers {
		if err := d.Decode(answers[i], &out[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// maxAnswer is far above the largest ledger, in bytes.
const maxAnswer = 64 << 20

// fetch reads a range of answers as they come.
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
