package testchain_test

import (
	"context"
	"encoding/json"
	"errors"
	"math/big"
	"math/rand/v2"
	"sync"
	"testing"

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

// A state is read while the chain begins again.
func TestStateAtWhileReset(t *testing.T) {
	s := open(t, t.TempDir())
	defer s.close()
	var reads sync.WaitGroup
	defer reads.Wait()
	done := make(chan struct{})
	defer close(done)
	ready := make(chan struct{})
	reads.Go(func() {
		for first := true; ; first = false {
			db, err := s.StateAt(s.Head())
			if err == nil && db.GetBalance(from).IsZero() {
				t.Error("the account has nothing")
			}
			if first {
				close(ready)
			}
			select {
			case <-done:
				return
			default:
			}
		}
	})
	<-ready
	for range 50 {
		s.want("null", "anvil_reset")
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

// logging is a contract that logs what it is called with.
var logging = common.HexToAddress("0x1010")

const loggingCode = "0x365f5f37365fa000" // calldatacopy(0, 0, calldatasize) log0(0, calldatasize)

// Followers of logs receive those of blocks that are taken back, too, the newest first and marked.
func TestRemovedLogs(t *testing.T) {
	s := open(t, t.TempDir())
	defer s.close()
	all := filter.New(api.Backend{Genesis: s.Genesis(), Blocks: s, States: s, Pool: s, Feed: s}).Methods()
	id, err := all["eth_newFilter"](t.Context(), []byte(`[{"address":"`+logging.Hex()+`"}]`))
	if err != nil {
		t.Fatal(err)
	}
	ask, err := json.Marshal([]any{id})
	if err != nil {
		t.Fatal(err)
	}
	want := func(want ...common.Hash) {
		t.Helper()
		got, err := all["eth_getFilterChanges"](t.Context(), ask)
		if err != nil {
			t.Fatal(err)
		}
		logs := got.([]*types.Log)
		if len(logs) != len(want) {
			t.Fatalf("%d logs, want %d", len(logs), len(want))
		}
		for i, l := range logs {
			hash := want[i]
			removed := hash[0] == 0xff // of the test
			hash[0] = l.TxHash[0]
			if l.TxHash != hash || l.Removed != removed || l.BlockHash == (common.Hash{}) {
				t.Errorf("log %d is %+v, want %v, removed: %v", i, l, want[i], removed)
			}
		}
	}
	gone := func(of common.Hash) common.Hash { of[0] = 0xff; return of }
	kept := func(of common.Hash) common.Hash { of[0] = 0; return of }
	s.want("null", "anvil_setCode", logging, loggingCode)
	s.want(`"0x0"`, "evm_snapshot")
	a, b := s.sendTo(logging), s.sendTo(logging)
	want(kept(a), kept(b))
	s.sendTo(logging) // which the follower does not see
	s.want("true", "evm_revert", "0x0")
	want(gone(b), gone(a))
	c := s.sendTo(logging)
	want(kept(c))
	s.want(`"0x1"`, "evm_snapshot")
	s.sendTo(logging)
	s.want("true", "evm_revert", "0x1")
	d := s.sendTo(logging)
	want(kept(d))
	grown := s.Grown(s.Head().Number.Uint64())
	s.want("null", "anvil_reset")
	<-grown
	want(gone(d), gone(c))
}

// The id of the chain is the genesis's.
func TestChainID(t *testing.T) {
	s := open(t, t.TempDir())
	defer s.close()
	s.want("null", "anvil_setChainId", 31337)
	s.refused("anvil_setChainId", 1)
}

// Another machine cannot send in the name of an account that is impersonated on this one.
func TestSigned(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	s.want("null", "anvil_setBalance", to, "0xde0b6b3a7640000")
	s.want("null", "anvil_impersonateAccount", to)
	raw := s.marked(0)
	if done := s.Submit(t.Context(), [][]byte{raw})[0]; done.Err != nil {
		t.Error(done.Err)
	}
	s.close()
	s = openAs(t, dir, testchain.Options{Reachable: true, Fail: func(err error) { t.Error(err) }})
	defer s.close()
	if done := s.Submit(t.Context(), [][]byte{s.marked(1)})[0]; !errors.Is(done.Err, types.ErrInvalidSig) {
		t.Errorf("a transaction without a signature: %v", done.Err)
	}
	s.send(1)
}

// The next block is shown as it would be made, and anew after each call.
func TestAhead(t *testing.T) {
	s := open(t, t.TempDir())
	defer s.close()
	pending := func(wei int64, in int) {
		t.Helper()
		for range 2 {
			db, header, err := s.PendingState(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			block, receipts, err := s.PendingBlock(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got := db.GetBalance(to).ToBig().Int64(); got != wei || len(block.Transactions()) != in || len(receipts) != in || header.Number.Cmp(s.Head().Number) <= 0 {
				t.Errorf("the balance is %d after %d transactions of block %v, want %d after %d", got, len(block.Transactions()), header.Number, wei, in)
			}
			db.SetNonce(from, 100, 0) // the caller's own
		}
	}
	s.want("null", "evm_setAutomine", false)
	pending(0, 0)
	s.send(3)
	pending(3, 1)
	s.send(4)
	pending(7, 2)
	s.want("null", "anvil_setBalance", to, "0x64")
	pending(107, 2)
	s.want("null", "anvil_dropAllTransactions")
	pending(100, 0)
	s.send(1)
	s.want(`"0x0"`, "evm_mine")
	pending(101, 0)
	ended, end := context.WithCancel(t.Context())
	end()
	s.send(1)
	if _, _, err := s.PendingState(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that has gone: %v", err)
	}
	pending(102, 1)
}
