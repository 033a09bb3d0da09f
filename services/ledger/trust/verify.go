package trust

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"

	"dyno/parts/refusal"
	"dyno/services/ledger/signing"
	"dyno/services/ledger/xrpl"
)

// Options configure VerifyFile. The zero value reads a file at L0, with one worker per core.
type Options struct {
	Level      Level
	Signatures string // a name of signing.Checkers; "" is the fastest there is
	Workers    int    // 0: one per core
}

// maxLine bounds a line, in bytes: several hundred times the answer for a full ledger.
const maxLine = 64 << 20

// VerifyFile verifies ledgers, one answer to `ledger` with binary: true per line, in any order. A
// line that fails is in the report; the error says why reading stopped. A file has no validations,
// so L3 is L2 here. From L2 on it needs about 200 bytes of memory per ledger.
func VerifyFile(ctx context.Context, r io.Reader, o Options) (Report, error) {
	check, err := checker(o.Signatures)
	if err != nil {
		return Report{}, err
	}
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	v := &verification{level: o.Level, check: check, chain: chain{}}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lines := make(chan numbered)
	spare := make(chan []byte, 2*o.Workers) // line buffers for reuse
	var workers sync.WaitGroup
	for range o.Workers {
		workers.Go(func() {
			own := xrpl.NewVerifier()
			for line := range lines {
				v.line(own, line)
				select {
				case spare <- line.text:
				default:
				}
			}
		})
	}
	err = readLines(ctx, r, lines, spare)
	close(lines)
	workers.Wait()
	if err != nil {
		return Report{}, err
	}
	return v.conclude(), nil
}

// checker finds a checker by its name, "" being the fastest.
func checker(name string) (signing.Checker, error) {
	if name == "" {
		_, fastest := signing.FastestChecker()
		return fastest, nil
	}
	return refusal.Pick("checker of signatures", signing.Checkers(), name)
}

type numbered struct {
	number  int
	text    []byte
	tooLong bool
}

func readLines(ctx context.Context, r io.Reader, to chan<- numbered, spare <-chan []byte) error {
	in := bufio.NewReaderSize(r, 1<<20)
	for number := 1; ; number++ {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		line := numbered{number: number}
		select {
		case line.text = <-spare:
		default:
		}
		end, err := line.read(in)
		if err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
		if number == 1 {
			line.text = bytes.TrimPrefix(line.text, []byte("\xef\xbb\xbf")) // a byte order mark
		}
		if len(line.text) > 0 || line.tooLong {
			select {
			case to <- line:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		if end {
			return nil
		}
	}
}

// read reads a line without its line end into text's memory. A line that is too long is skipped.
func (l *numbered) read(in *bufio.Reader) (end bool, err error) {
	l.text = l.text[:0]
	for {
		part, err := in.ReadSlice('\n')
		if len(l.text)+len(part) > maxLine {
			l.text, l.tooLong = l.text[:0], true
		}
		if !l.tooLong {
			l.text = append(l.text, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && err != io.EOF:
			return false, err
		}
		for n := len(l.text); n > 0 && strings.IndexByte(" \t\r\n", l.text[n-1]) >= 0; n-- {
			l.text = l.text[:n-1]
		}
		return err == io.EOF, nil
	}
}

type verification struct {
	level Level
	check signing.Checker

	mu       sync.Mutex
	report   Report
	failures failures
	chain    chain
}

// line verifies a line without the others.
func (v *verification) line(own *xrpl.Verifier, line numbered) {
	l, h, signatures, marked, err := v.prove(own, line)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.report.Ledgers++
	v.report.Signatures += signatures
	switch {
	case marked:
		v.failures.add(line.number, l.Index, err.Error())
		v.report.Add(l.Index, err.Error())
	case err != nil:
		v.failures.add(line.number, l.Index, err.Error())
	default:
		v.report.Transactions += len(l.Transactions)
	}
	if v.level >= L2 && h.Index > 0 {
		v.chain.add(line.number, &h, err == nil || marked)
	}
}

// prove proves a line without the others; marked: it has its hash, and err is why it fails at L4.
func (v *verification) prove(own *xrpl.Verifier, line numbered) (l xrpl.Ledger, h xrpl.Header, signatures int, marked bool, err error) {
	if line.tooLong {
		return l, h, 0, false, fmt.Errorf("the line is longer than %d MiB", maxLine>>20)
	}
	if l, err = decode(line.text); err != nil {
		return l, h, 0, false, err
	}
	if v.level == L0 {
		h, err = xrpl.ParseHeader(l.Header)
		return l, h, 0, false, err
	}
	if h, err = own.Ledger(&l); err != nil {
		return l, h, 0, false, err
	}
	if l.Hash.IsZero() {
		return l, h, 0, false, errors.New("the answer has no ledger_hash to compare its header with")
	}
	if err := placed(l.Transactions); err != nil {
		return l, h, 0, false, err
	}
	if v.level >= L4 {
		signatures, err = signing.Verify(&l, v.check)
	}
	return l, h, signatures, err != nil, err
}

// placed checks that transactions have distinct places: a ledger numbers them from 0 as applied.
func placed(txs []xrpl.Transaction) error {
	taken := make([]bool, len(txs))
	for i, tx := range txs {
		at, err := xrpl.TransactionIndex(tx.Meta)
		switch {
		case err != nil:
			return fmt.Errorf("transaction %d of %d: %w", i+1, len(txs), err)
		case int64(at) >= int64(len(txs)):
			return fmt.Errorf("transaction %d of %d has place %d", i+1, len(txs), at)
		case taken[at]:
			return fmt.Errorf("transaction %d of %d has place %d, as another one does", i+1, len(txs), at)
		}
		taken[at] = true
	}
	return nil
}

func (v *verification) conclude() Report {
	v.report.Links = v.chain.link(&v.failures)
	v.report.Verified = v.report.Ledgers - v.failures.count
	v.report.Failed = v.failures.list()
	v.report.Sort()
	return v.report
}
