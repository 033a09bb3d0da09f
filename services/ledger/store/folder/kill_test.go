package folder

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"go.uber.org/goleak"

	"dyno/parts/quicktest"
	"dyno/services/ledger/store"
	"dyno/services/ledger/trust"
	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/xrpltest"
)

// childFolder is where this test binary, run again, stores ledgers until it is killed; childBatch
// is the most ledgers in a batch.
const (
	childFolder = "DYNO_STORE_KILL"
	childBatch  = "DYNO_STORE_BATCH"
)

const childTop = 4000 // more than all rounds store

func TestMain(m *testing.M) {
	if dir := os.Getenv(childFolder); dir != "" {
		child(dir)
		return
	}
	goleak.VerifyTestMain(m)
}

// child stores ledgers downwards and prints how many are durable.
func child(dir string) {
	s, err := store.Open(dir, store.Options{Accounts: true, Pebble: func(o *pebble.Options) { o.MemTableSize = 256 << 10 }})
	fail := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	fail(err)
	total := s.Stored().Len()
	batch, err := strconv.Atoi(os.Getenv(childBatch))
	fail(err)
	reports := make(chan int, childTop)
	w := store.NewWriter(s, store.WriterOptions{Progress: store.Progress{From: 1, To: childTop, Level: "L2"}, Batch: batch,
		Stored: func(ledgers []*xrpl.Ledger) { reports <- len(ledgers) }})
	go func() { // ends with the process
		for ledgers := range reports {
			total += ledgers
			fmt.Println(total)
		}
	}()
	chain := xrpltest.Chain(7, 1, childTop, 2)
	for i := childTop - total - 1; i >= 0; i-- {
		fail(w.Put(context.Background(), chain[i], func() {}))
	}
	fail(w.Close())
	for { // until it is killed, which may be long after on a machine that is busy
		fmt.Println(childTop)
	}
}

// A process that is killed at any moment loses no durable ledger, and its ledgers are whole,
// without a hole.
func TestKill(t *testing.T) {
	rounds := quicktest.Of(2, 12)
	for _, batch := range []string{"1", "8"} {
		t.Run(batch, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			rng := rand.New(rand.NewPCG(1, 2))
			for range rounds {
				durable := killed(t, dir, batch, rng.IntN(25))
				s, err := store.Open(dir, store.Options{ReadOnly: rng.IntN(2) == 0})
				if err != nil {
					t.Fatal(err)
				}
				stored := s.Stored()
				n := stored.Len()
				if n > 0 && (len(stored) != 1 || stored[0].To != childTop) {
					t.Fatalf("stored are %v, which has holes", stored)
				}
				if n < durable {
					t.Fatalf("%d ledgers were durable, %d are there", durable, n)
				}
				report, err := CheckStore(t.Context(), s, trust.L2, nil)
				if err != nil || !report.Clean() || report.Ledgers != n || report.Links != max(0, n-1) || report.Transactions != 2*n {
					t.Fatalf("%d ledgers: %+v, %v", n, report, err)
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// killed runs a child, kills it some lines after its start, and returns how many ledgers it
// reported as durable.
func killed(t *testing.T, dir, batch string, lines int) (durable int) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childFolder+"="+dir, childBatch+"="+batch)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var complaint strings.Builder
	cmd.Stderr = &complaint
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	read := bufio.NewScanner(out)
	for i := 0; read.Scan(); i++ {
		if durable, err = strconv.Atoi(read.Text()); err != nil {
			t.Fatal(err)
		}
		if i == lines {
			cmd.Process.Kill()
		}
	}
	io.Copy(io.Discard, out)
	if err := cmd.Wait(); err == nil || complaint.Len() > 0 {
		t.Fatalf("the child was not killed: %v %s", err, complaint.String())
	}
	return durable
}
