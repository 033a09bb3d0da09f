package store

import (
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/xrpltest"
)

// An answer is in the packs from its arrival, across a crash; it is written once, offered once, and
// never after it was found wrong.
func TestReceived(t *testing.T) {
	chain := xrpltest.Chain(1, 5, 4, 3)
	disk := vfs.NewCrashableMem()
	s := mustOpen(t, disk, Options{})
	ids := map[uint32]uint64{}
	for _, l := range chain {
		mixed := copied(l)
		mixed.Transactions[0], mixed.Transactions[2] = mixed.Transactions[2], mixed.Transactions[0]
		ids[l.Index] = s.Keep("http://a", mixed)
	}
	if _, _, ok := s.Take(5, new(xrpl.Ledger)); ok {
		t.Error("what this process is proving is offered")
	}
	s.Drop(ids[6])
	s.Accept(ids[8])
	size := s.packs.End().Offset
	mustAppend(t, s, copied(chain[3]))
	if grown := s.packs.End().Offset - size; grown > 500 {
		t.Errorf("a ledger that was kept is written again: %d bytes", grown)
	}
	holds(t, s, map[uint32]*xrpl.Ledger{8: chain[3]})

	crashed := disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
	for range 2 { // reading changes no state
		look := mustOpen(t, crashed, Options{ReadOnly: true})
		holds(t, look, map[uint32]*xrpl.Ledger{8: chain[3]})
		look.Close()
	}
	s = mustOpen(t, crashed, Options{})
	holds(t, s, map[uint32]*xrpl.Ledger{8: chain[3]})
	if got := s.Received(); len(got) != 2 || got[0] != 5 || got[1] != 7 {
		t.Fatalf("%v wait", got)
	}
	var l xrpl.Ledger
	server, id, ok := s.Take(7, &l)
	if !ok || server != "http://a" || !same(&l, chain[2]) || l.Hash != chain[2].Hash {
		t.Fatalf("%s, %v, %v", server, ok, l.Index)
	}
	if _, _, again := s.Take(7, new(xrpl.Ledger)); again {
		t.Error("offered twice")
	}
	s.Accept(id)
	mustAppend(t, s, &l)
	holds(t, s, map[uint32]*xrpl.Ledger{8: chain[3], 7: chain[2]})
	if got := s.Received(); len(got) != 1 || got[0] != 5 {
		t.Fatalf("%v wait", got)
	}
}

// A false answer with the hash of the right one is not stored in its place.
func TestOnlyAcceptedAnswersAreStored(t *testing.T) {
	truth := xrpltest.Chain(1, 5, 1, 3)[0]
	lie := copied(truth)
	lie.Transactions[1].Meta = append([]byte(nil), lie.Transactions[1].Meta...)
	lie.Transactions[1].Meta[len(lie.Transactions[1].Meta)-1] ^= 1
	s := mustOpen(t, vfs.NewMem(), Options{})
	s.Keep("http://liar", lie)
	id := s.Keep("http://a", copied(truth))
	s.Accept(id)
	mustAppend(t, s, copied(truth))
	holds(t, s, map[uint32]*xrpl.Ledger{5: truth})
}

// Malformed answers and stored ledgers are not kept.
func TestNotKept(t *testing.T) {
	l := xrpltest.Chain(1, 5, 1, 2)[0]
	s := mustOpen(t, vfs.NewMem(), Options{})
	short := copied(l)
	short.Header = short.Header[1:]
	twice := copied(l)
	twice.Transactions[1] = twice.Transactions[0]
	mustAppend(t, s, copied(l))
	for name, bad := range map[string]*xrpl.Ledger{"short header": short, "a place twice": twice, "stored": l} {
		if s.Keep("http://a", bad) != 0 {
			t.Errorf("%s: kept", name)
		}
	}
}

// Answers that wait for too long are dropped, so that the position from which the packs are read
// advances.
func TestWaitingAnswersAreBounded(t *testing.T) {
	s := mustOpen(t, vfs.NewMem(), Options{})
	chain := xrpltest.Chain(1, 5, 2, 1)
	s.Keep("http://a", copied(chain[0]))
	s.received.written += maxWaiting + 1
	mustAppend(t, s, copied(chain[1]))
	if got := s.Received(); len(got) != 0 {
		t.Errorf("%v wait", got)
	}
	if from, err := s.readFrom(); err != nil || from != s.packs.End() {
		t.Errorf("the packs are read from %v, %v", from, err)
	}
}

func copied(l *xrpl.Ledger) *xrpl.Ledger {
	c := *l
	c.Transactions = append([]xrpl.Transaction(nil), l.Transactions...)
	return &c
}
