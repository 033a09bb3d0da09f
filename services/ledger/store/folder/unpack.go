package folder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"dyno/services/ledger/signing"
	"dyno/services/ledger/store"
	"dyno/services/ledger/trust"
	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/history"
	"dyno/services/ledger/xrpl/pack"
)

// Anchor is a ledger whose hash is known from another source. Its zero value means none.
type Anchor struct {
	Index uint32
	Hash  xrpl.Hash
}

// UnpackOptions configure Unpack.
type UnpackOptions struct {
	Level  trust.Level // L2, or L4, which also checks signatures; L0: the store's own level
	Anchor Anchor

	// Begun is called with the pack's head before its first ledger is read. Nil: not called.
	Begun func(pack.Head)
	// Stored is called with the number of durable ledgers, after every block. Nil: not called.
	Stored func(done int)
}

// UnpackResult is the result of Unpack.
type UnpackResult struct {
	Head         pack.Head
	Ledgers      int
	Transactions int
	Signatures   int
	Word         string // the source of trust in the top ledger's hash
}

// Unpack proves the ledgers of a pack and stores them, block after block from the top one
// downwards: each has the hash that the one above names, and its transactions are its header's. A
// wrong ledger ends it before the ledger is stored; ledgers proved before stay. pack.ErrDamaged:
// the file is damaged. A store that was proved to a higher level than the pack has the pack's level
// afterwards.
func Unpack(ctx context.Context, from io.Reader, s *store.Store, o UnpackOptions) (UnpackResult, error) {
	r, err := pack.NewReader(from)
	if err != nil {
		return UnpackResult{}, err
	}
	defer r.Close()
	o.Level = packLevel(s, o)
	u := &unpacker{store: s, o: o, done: UnpackResult{Head: r.Head}, expected: r.Head.Top, progress: packProgress(s, r.Head, o)}
	if u.done.Word, err = u.word(); err != nil {
		return u.done, err
	}
	if o.Level >= trust.L4 {
		_, u.checker = signing.FastestChecker()
	}
	if o.Begun != nil {
		o.Begun(r.Head)
	}
	for {
		ledgers, err := r.Next()
		if errors.Is(err, io.EOF) {
			return u.done, nil
		}
		if err == nil {
			err = u.block(ctx, ledgers)
		}
		if err != nil {
			return u.done, err
		}
	}
}

// packLevel is the level to which a pack is proved: that of o, or that of the store, as in a
// sync that continues.
func packLevel(s *store.Store, o UnpackOptions) trust.Level {
	if o.Level == trust.L0 {
		o.Level, _ = trust.ParseLevel(s.Progress().Level) // a store without one is new
	}
	if o.Level < trust.L4 {
		return trust.L2
	}
	return trust.L4
}

// packProgress is the progress to store: the store's own, so that its sync continues, with the
// pack's level if that is lower.
func packProgress(s *store.Store, h pack.Head, o UnpackOptions) store.Progress {
	if p := s.Progress(); p.Range() != (history.Range{}) {
		if before, err := trust.ParseLevel(p.Level); err == nil {
			level := min(before, o.Level)
			if level == trust.L3 { // no quorum agreed on the pack
				level = trust.L2
			}
			p.Level = level.String()
		}
		return p.After(s.Progress())
	}
	return store.Progress{From: h.Range.From, To: h.Range.To, Servers: []string{}, Level: o.Level.String(),
		Anchor: fmt.Sprintf("%d:%v", h.Range.To, h.Top)}
}

type unpacker struct {
	store      *store.Store
	o          UnpackOptions
	checker    signing.Checker
	progress   store.Progress
	expected   xrpl.Hash // hash of the next ledger
	done       UnpackResult
	signatures atomic.Int64
}

// word compares the hash of the top ledger with known ones, and returns the source of trust in it.
func (u *unpacker) word() (string, error) {
	top := u.done.Head.Range.To
	var words []string
	if a := u.o.Anchor; a != (Anchor{}) {
		if a.Index != top {
			return "", fmt.Errorf("the anchor is of ledger %d, the pack's top ledger is %d: give the hash of that one, because an anchor proves no ledger above it", a.Index, top)
		}
		if a.Hash != u.expected {
			return "", fmt.Errorf("the pack's top ledger %d is %v, the anchor says %v: it is of another network or was tampered with", top, u.expected, a.Hash)
		}
		words = append(words, "the anchor that you gave")
	}
	if above := top + 1; above != 0 && u.store.Stored().Has(above) {
		h, _, err := u.store.Header(above)
		if err != nil {
			return "", err
		}
		if h.Parent != u.expected {
			return "", fmt.Errorf("the pack's top ledger %d is %v, and the parent of the stored ledger %d is %v: they belong to different histories", top, u.expected, above, h.Parent)
		}
		words = append(words, fmt.Sprintf("ledger %d, which was stored before", above))
	}
	if len(words) == 0 {
		return "the author of the pack", nil
	}
	return words[0], nil
}

func (u *unpacker) block(ctx context.Context, ledgers []*xrpl.Ledger) error {
	expected := u.expected
	for _, l := range ledgers {
		var err error
		if expected, err = pack.Parent(l, expected); err != nil {
			return fmt.Errorf("the pack was tampered with: %w", err)
		}
	}
	if err := u.prove(ctx, ledgers); err != nil {
		return fmt.Errorf("the pack was tampered with: %w", err)
	}
	if err := u.joins(ledgers[len(ledgers)-1].Index, expected); err != nil {
		return err
	}
	if err := u.store.Append(ledgers, u.progress); err != nil {
		return err
	}
	u.expected = expected
	u.done.Ledgers += len(ledgers)
	for _, l := range ledgers {
		u.done.Transactions += len(l.Transactions)
	}
	u.done.Signatures = int(u.signatures.Load())
	if u.o.Stored != nil {
		u.o.Stored(u.done.Ledgers)
	}
	return nil
}

// prove checks each ledger without the others, on all processors.
func (u *unpacker) prove(ctx context.Context, ledgers []*xrpl.Ledger) error {
	group, ctx := errgroup.WithContext(ctx)
	var next atomic.Int64
	for range min(runtime.GOMAXPROCS(0), len(ledgers)) {
		group.Go(func() error {
			v := xrpl.NewVerifier()
			for i := int(next.Add(1)) - 1; i < len(ledgers); i = int(next.Add(1)) - 1 {
				if err := ctx.Err(); err != nil {
					return err
				}
				if err := u.one(v, ledgers[i]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

func (u *unpacker) one(v *xrpl.Verifier, l *xrpl.Ledger) error {
	if _, err := v.Ledger(l); err != nil {
		return err
	}
	if u.checker == nil {
		return nil
	}
	n, err := signing.Verify(l, u.checker)
	if err != nil {
		return fmt.Errorf("ledger %d: %w", l.Index, err)
	}
	u.signatures.Add(int64(n))
	return nil
}

// joins checks that a block continues what is stored below it.
func (u *unpacker) joins(lowest uint32, parent xrpl.Hash) error {
	if lowest == 1 || !u.store.Stored().Has(lowest-1) {
		return nil
	}
	_, hash, err := u.store.Header(lowest - 1)
	if err == nil && hash != parent {
		err = fmt.Errorf("the parent of ledger %d is %v in the pack, and the stored ledger %d is %v: they belong to different histories; unpack into another folder",
			lowest, parent, lowest-1, hash)
	}
	return err
}
