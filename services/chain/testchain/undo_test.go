package testchain_test

import (
	"encoding/json"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"

	"dyno/services/chain/api"
	"dyno/services/chain/api/filter"
	"dyno/services/chain/genesis"
	"dyno/services/chain/testchain"
)

// Calls that fail change nothing: opened again, from a journal without them, the chain is the same.
func TestFailed(t *testing.T) {
	dir, random := t.TempDir(), rand.New(rand.NewPCG(1, 2))
	s := open(t, dir)
	defer func() { s.close() }()
	fail := func() {
		before := s.image()
		huge := "0x1ffffffffffffffffff"
		switch random.IntN(5) {
		case 0:
			s.call("evm_setBlockGasLimit", huge)
		case 1:
			s.call("anvil_setBlockTimestampInterval", huge)
		case 2:
			s.call("evm_setNextBlockTimestamp", 1)
		default: // the contract of withdrawal requests, without which no block can be made
			code := s.code(params.WithdrawalQueueAddress)
			s.want("null", "anvil_setCode", params.WithdrawalQueueAddress, "0xfe")
			before = s.image()
			s.refused("evm_mine", s.Head().Time+1000)
			s.refused("anvil_mine", "0x3", "0x3c")
			nonce, _ := s.Nonce(from)
			tx := types.MustSignNewTx(key, types.LatestSigner(s.Genesis().Config), &types.LegacyTx{Nonce: nonce, Gas: 21_000, GasPrice: big.NewInt(1e11), To: &to})
			raw, err := tx.MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
			if s.Submit(t.Context(), [][]byte{raw})[0].Err == nil {
				t.Error("a transaction for which no block can be made is accepted")
			}
			if s.Waiting(tx.Hash()) != nil {
				t.Error("the transaction waits")
			}
			defer s.want("null", "anvil_setCode", params.WithdrawalQueueAddress, code)
		}
		if after := s.image(); after != before {
			t.Errorf("a failed call changed %swhich is now %s", before, after)
		}
	}
	s.want("true", "evm_setBlockGasLimit", "0x2faf080")
	for range 20 {
		fail()
		s.want(`"0x0"`, "evm_mine")
		head := s.Head()
		s.close()
		s = open(t, dir)
		if again := s.Head(); again.Hash() != head.Hash() {
			t.Fatalf("opened again the head is %v with gas limit %d, want %v with %d", again.Number, again.GasLimit, head.Number, head.GasLimit)
		}
	}
}

func (s *suite) code(of common.Address) string {
	s.t.Helper()
	db, err := s.StateAt(s.Head())
	if err != nil {
		s.t.Fatal(err)
	}
	return "0x" + common.Bytes2Hex(db.GetCode(of))
}

// refused calls a method that must fail.
func (s *suite) refused(method string, params ...any) {
	s.t.Helper()
	text, err := json.Marshal(params)
	if err != nil {
		s.t.Fatal(err)
	}
	if result, err := s.all[method](s.t.Context(), text); err == nil {
		s.t.Errorf("%s %s: %v, want an error", method, text, result)
	}
}

// A filter sees the blocks that follow a revert or a reset, whether it was asked in between or not.
func TestFollowed(t *testing.T) {
	s := open(t, t.TempDir())
	defer s.close()
	blocks := filter.New(api.Backend{Genesis: s.Genesis(), Blocks: s, States: s, Pool: s, Feed: s}).Methods()
	id, err := blocks["eth_newBlockFilter"](t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ask, err := json.Marshal([]any{id})
	if err != nil {
		t.Fatal(err)
	}
	want := func(first uint64) {
		t.Helper()
		got, err := blocks["eth_getFilterChanges"](t.Context(), ask)
		if err != nil {
			t.Fatal(err)
		}
		hashes := []common.Hash{}
		for n := first; n <= s.Head().Number.Uint64(); n++ {
			header, err := s.Header(n)
			if err != nil {
				t.Fatal(err)
			}
			hashes = append(hashes, header.Hash())
		}
		g, err1 := json.Marshal(got)
		w, err2 := json.Marshal(hashes)
		if err1 != nil || err2 != nil || string(g) != string(w) {
			t.Errorf("the filter has %s, want %s", g, w)
		}
	}
	s.call("anvil_mine", 5)
	s.want(`"0x0"`, "evm_snapshot")
	s.call("anvil_mine", 5)
	want(1)
	s.want("true", "evm_revert", "0x0")
	want(6)
	s.call("anvil_mine", 3)
	want(6)
	s.want(`"0x1"`, "evm_snapshot")
	s.call("anvil_mine", 2)
	want(9)
	s.want("true", "evm_revert", "0x1")
	s.call("anvil_mine", 4) // beyond where it was
	want(9)
	grown := s.Grown(s.Head().Number.Uint64())
	s.want("null", "anvil_reset")
	select {
	case <-grown:
	default:
		t.Error("a reset does not wake those who wait")
	}
	s.call("anvil_mine", 2)
	want(1)
}

// A revert leaves impersonation, mining and the coinbase as they are.
func TestKeptSettings(t *testing.T) {
	s := open(t, t.TempDir())
	defer s.close()
	s.want(`"0x0"`, "evm_snapshot")
	s.call("anvil_impersonateAccount", to)
	s.call("anvil_setCoinbase", genesis.Accounts[3])
	s.call("evm_setAutomine", false)
	s.want("true", "evm_revert", "0x0")
	s.want("false", "anvil_getAutomine")
	s.want(`"0x0"`, "evm_mine")
	if !s.Impersonated(to) || s.Head().Coinbase != genesis.Accounts[3] {
		t.Error("a revert has taken back what is no part of the chain")
	}
}

// A look at a chain whose blocks are made by the clock makes none.
func TestStill(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	s.call("evm_setIntervalMining", 1)
	s.close()
	c, err := testchain.Open(t.Context(), dir, nil, testchain.Options{Fail: func(err error) { t.Error(err) }, Still: true})
	if err != nil {
		t.Fatal(err)
	}
	before := c.Head().Number.Uint64()
	time.Sleep(1200 * time.Millisecond)
	if after := c.Head().Number.Uint64(); after != before {
		t.Errorf("%d blocks were made", after-before)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}
