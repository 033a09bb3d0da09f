package testchain_test

import (
	"encoding/json"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"dyno/services/chain/api"
	"dyno/services/chain/api/filter"
)

// hashes are those of the blocks from a number on.
func (s *suite) hashes(from uint64) (all []common.Hash) {
	s.t.Helper()
	for n := from; n <= s.Head().Number.Uint64(); n++ {
		header, err := s.Header(n)
		if err != nil {
			s.t.Fatal(err)
		}
		all = append(all, header.Hash())
	}
	return all
}

// raw is the only transaction of a block.
func (s *suite) raw(number uint64) hexutil.Bytes {
	s.t.Helper()
	block, err := s.Block(number)
	if err != nil {
		s.t.Fatal(err)
	}
	raw, err := block.Transactions()[0].MarshalBinary()
	if err != nil {
		s.t.Fatal(err)
	}
	return raw
}

// A rollback takes back the last blocks with the snapshots in them, and leaves what was written after the
// last one that stays.
func TestRollback(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	defer func() { s.close() }()
	s.want("null", "anvil_rollback", 0)
	s.send(1)
	s.want("null", "anvil_setBalance", to, "0x64")
	s.want(`"0x0"`, "evm_snapshot")
	s.send(2)
	s.want(`"0x1"`, "evm_snapshot")
	gone := s.send(4)
	s.balance(106)
	s.want("null", "anvil_rollback")
	s.balance(102)
	if _, _, err := s.Transaction(gone); err == nil {
		t.Error("a transaction that was taken back is there")
	}
	if n, _ := s.Stats(); n != 0 {
		t.Errorf("%d transactions wait", n)
	}
	s.want("null", "anvil_rollback", "0x1")
	s.balance(100)
	s.refused("anvil_rollback", 2)
	before := s.image()
	s.close()
	s = open(t, dir)
	if after := s.image(); after != before {
		t.Errorf("it was %swhich is now %s", before, after)
	}
	s.want("false", "evm_revert", "0x1")
	s.want("true", "evm_revert", "0x0")
	s.send(8)
	s.balance(108)
}

// A reorganisation replaces the last blocks by others, all of them or none, and followers see these.
func TestReorg(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	defer func() { s.close() }()
	for _, wei := range []int64{1, 2, 4} {
		s.send(wei)
	}
	second, third, before := s.raw(2), s.raw(3), s.hashes(0)
	s.refused("anvil_reorg", 4)
	s.refused("anvil_reorg", 2, []any{[]any{second, 2}})
	s.refused("anvil_reorg", 2, []any{[]any{third, 0}}) // its nonce is not the next one
	s.refused("anvil_reorg", 2, []any{[]any{second, 0}, []any{second, 1}})
	if after := s.hashes(0); len(after) != 4 || after[3] != before[3] {
		t.Fatalf("a failed reorganisation has left %v of %v", after, before)
	}
	s.balance(7)

	follow := filter.New(api.Backend{Genesis: s.Genesis(), Blocks: s, States: s, Pool: s, Feed: s}).Methods()
	id, err := follow["eth_newBlockFilter"](t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	s.want("null", "anvil_reorg", 2, []any{[]any{second, 0}, []any{third, "0x1"}})
	s.balance(7)
	after := s.hashes(0)
	if len(after) != 4 || after[1] != before[1] || after[2] == before[2] || after[3] == before[3] {
		t.Errorf("the blocks were %v and are %v", before, after)
	}
	ask, err := json.Marshal([]any{id})
	if err != nil {
		t.Fatal(err)
	}
	seen, err := follow["eth_getFilterChanges"](t.Context(), ask)
	if got, ok := seen.([]common.Hash); err != nil || !ok || len(got) != 2 || got[0] != after[2] || got[1] != after[3] {
		t.Errorf("the filter has %v, %v, want the last two of %v", seen, err, after)
	}
	if _, err := s.all["anvil_reorg"](t.Context(), []byte(`{"depth":1,"tx_block_pairs":[]}`)); err != nil {
		t.Error(err)
	}
	s.balance(3)
	image := s.image()
	s.close()
	s = open(t, dir)
	if again := s.image(); again != image {
		t.Errorf("it was %swhich is now %s", image, again)
	}
}

// Seconds pass from the last block on, also where many were made within one; before the first block, too,
// with anvil's name, and between blocks with Hardhat's.
func TestSecondsPass(t *testing.T) {
	s := open(t, t.TempDir())
	defer s.close()
	passed := func(least, most uint64, method string, params ...any) {
		t.Helper()
		before := s.Head().Time
		s.call(method, params...)
		if method == "evm_increaseTime" {
			s.call("evm_mine")
		}
		if got := s.Head().Time - before; got < least || got > most {
			t.Errorf("%s %v: %d seconds have passed, want %d to %d", method, params, got, least, most)
		}
	}
	const slow = 30 // seconds that the machine may take
	s.call("anvil_mine", 300)
	passed(60, 60+slow, "evm_increaseTime", 60)
	s.call("anvil_mine", 300)
	passed(120, 120+slow, "anvil_mine", 2, 60)
	passed(61, 61+slow, "hardhat_mine", 2, 60)
	s.refused("evm_increaseTime", "0x1ffffffffff")
	s.refused("anvil_mine", 1, "0xffffffffffffffff")
}
