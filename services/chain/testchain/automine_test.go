package testchain_test

import (
	"math/big"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"

	"dyno/services/chain/testchain"
)

// A transaction behind a gap makes no block, and what waits is mined when automine is on again, as anvil
// does both.
func TestAutomine(t *testing.T) {
	s := open(t, t.TempDir())
	defer s.close()
	blocks := func(want uint64) {
		t.Helper()
		if n := s.Head().Number.Uint64(); n != want {
			t.Errorf("%d blocks, want %d", n, want)
		}
	}
	config := s.Genesis().Config
	second, err := types.MustSignNewTx(key, types.LatestSigner(config), &types.DynamicFeeTx{
		ChainID: config.ChainID, Nonce: 1, GasFeeCap: big.NewInt(1e11), Gas: 21_000, To: &to, Value: big.NewInt(1),
	}).MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	if done := s.Submit(t.Context(), [][]byte{second})[0]; done.Err != nil {
		t.Fatal(done.Err)
	}
	blocks(0)
	s.send(1)
	blocks(1)
	s.balance(2)
	s.call("evm_setAutomine", false)
	s.send(1)
	s.send(1)
	blocks(1)
	s.call("evm_setAutomine", true)
	blocks(2)
	s.balance(4)
	s.call("evm_setAutomine", true) // nothing waits
	blocks(2)
}

// A journal of before makes the blocks that it made then: one for each transaction, also behind a gap, none
// when automine came on again, and of the times that they had.
func TestJournalOfBefore(t *testing.T) {
	defer testchain.BeginBefore()()
	dir := t.TempDir()
	s := open(t, dir)
	defer func() { s.close() }()
	config := s.Genesis().Config
	submit := func(nonce uint64) {
		t.Helper()
		raw, err := types.MustSignNewTx(key, types.LatestSigner(config), &types.DynamicFeeTx{
			ChainID: config.ChainID, Nonce: nonce, GasFeeCap: big.NewInt(1e11), Gas: 21_000, To: &to, Value: big.NewInt(1),
		}).MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Before("submit", `["`+hexutil.Encode(raw)+`"]`); err != nil {
			t.Fatal(err)
		}
	}
	automine := func(on string) {
		t.Helper()
		if err := s.Before("evm_setAutomine", "["+on+"]"); err != nil {
			t.Fatal(err)
		}
	}
	submit(1)
	submit(0)
	automine("false")
	submit(2)
	automine("true")
	if n := s.Head().Number.Uint64(); n != 2 {
		t.Errorf("%d blocks, want 2", n)
	}
	for _, record := range [][2]string{{"evm_increaseTime", `[60]`}, {"anvil_mine", `["0x3","0x3c"]`}, {"anvil_mine", `["0x1","0x18bcfe56800"]`}} {
		if err := s.Before(record[0], record[1]); err != nil {
			t.Fatal(err)
		}
	}
	before := s.image()
	s.close()
	s = open(t, dir)
	if after := s.image(); after != before {
		t.Errorf("it was %swhich is now %s", before, after)
	}
}

// A look at a chain whose blocks are made by the clock makes none.
func TestStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		s := open(t, dir)
		s.call("evm_setIntervalMining", 1)
		time.Sleep(3500 * time.Millisecond)
		synctest.Wait()
		before := s.Head().Number.Uint64()
		if before != 3 {
			t.Errorf("after 3.5 seconds there are %d blocks", before)
		}
		s.close()
		s = openAs(t, dir, testchain.Options{Fail: func(err error) { t.Error(err) }, Still: true})
		time.Sleep(time.Hour)
		if after := s.Head().Number.Uint64(); after != before {
			t.Errorf("%d blocks were made", after-before)
		}
		s.close()
	})
}
