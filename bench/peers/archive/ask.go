package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/params"

	"dyno/bench/peers/ethnodes"
)

// asked is what one node took for the questions of a kind.
type asked map[string][]time.Duration

// kinds of questions.
var kinds = []string{"eth_getBalance", "eth_getTransactionCount", "eth_getStorageAt"}

// ask asks the archives, prints what each took and puts it into the rows, and returns an error if two answers differ.
func (o options) ask(ctx context.Context, out io.Writer, nodes []ethnodes.Node, c chain, rows []row) (err error) {
	accounts, err := o.accountsOf(c)
	if err != nil {
		return err
	}
	slices.SortFunc(accounts, common.Address.Cmp)
	served := make([]*ethnodes.Served, 0, len(nodes))
	defer func() {
		for _, s := range served {
			err = errors.Join(err, s.Stop())
		}
	}()
	for _, n := range nodes {
		s, err := n.Serve(ctx, o.data)
		if err != nil {
			return err
		}
		served = append(served, s)
		var head hexutil.Uint64
		if err := s.Call(ctx, &head, "eth_blockNumber"); err != nil || uint64(head) != c.Blocks {
			return errors.Join(err, fmt.Errorf("%s has the head %d, not %d", n.Name, head, c.Blocks))
		}
	}
	took := make([]asked, len(served))
	for i := range took {
		took[i] = asked{}
	}
	random, different := rand.New(rand.NewPCG(3, 4)), 0
	for q := range o.questions {
		kind := kinds[q%len(kinds)]
		body := question(random, kind, accounts, c)
		answers := make([][]byte, len(served))
		for k := range served {
			i := (k + q) % len(served)
			began := time.Now()
			a, err := served[i].Post(ctx, body)
			if err != nil {
				return err
			}
			took[i][kind] = append(took[i][kind], time.Since(began))
			if a.Error != nil {
				return fmt.Errorf("%s: %s: %s", served[i].Name, body, a.Error.Message)
			}
			answers[i] = a.Result
		}
		for i := range answers {
			if !bytes.Equal(answers[i], answers[0]) {
				different++
				fmt.Fprintf(out, "%s\n%s: %s\n%s: %s\n", body, served[0].Name, answers[0], served[i].Name, answers[i])
			}
		}
	}
	fmt.Fprintf(out, "\n%d questions about states after random blocks of %d, %d different answers; microseconds, the client's included\n\n", o.questions, c.Blocks, different)
	table := tabwriter.NewWriter(out, 0, 0, 1, ' ', 0)
	fmt.Fprint(table, "| node\t| balance, median\t| nonce\t| slot\t| all, p99\t|\n| ---\t| ---\t| ---\t| ---\t| ---\t|\n")
	for i, s := range served {
		r := &rows[slices.IndexFunc(rows, func(r row) bool { return r.Name == s.Name })]
		var all []time.Duration
		for k, median := range []*float64{&r.Balance, &r.Nonce, &r.Slot} {
			of := took[i][kinds[k]]
			all = append(all, of...)
			*median = micros(quantile(of, 50))
		}
		r.P99 = micros(quantile(all, 99))
		fmt.Fprintf(table, "| %s\t| %.0f\t| %.0f\t| %.0f\t| %.0f\t|\n", s.Name, r.Balance, r.Nonce, r.Slot, r.P99)
	}
	if err := table.Flush(); err != nil || different == 0 {
		return err
	}
	return fmt.Errorf("%d answers differ", different)
}

func micros(d time.Duration) float64 { return float64(d.Microseconds()) }

// question is one of a kind, about a random block before the last.
func question(random *rand.Rand, kind string, accounts []common.Address, c chain) []byte {
	block := hexutil.Uint64(random.Uint64N(c.Blocks))
	if kind == "eth_getStorageAt" {
		return ethnodes.Body(kind, params.HistoryStorageAddress, hexutil.Uint64(random.Uint64N(min(slots, c.Blocks))), block)
	}
	return ethnodes.Body(kind, accounts[random.IntN(len(accounts))], block)
}

// quantile returns a percentile, 0 to 100.
func quantile(values []time.Duration, percent int) time.Duration {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[(len(sorted)-1)*percent/100]
}
