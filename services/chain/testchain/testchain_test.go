package testchain_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"go.uber.org/goleak"

	"dyno/services/chain/execution"
	"dyno/services/chain/genesis"
	"dyno/services/chain/jsonrpc"
	"dyno/services/chain/testchain"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// suite is a test chain with its methods.
type suite struct {
	*testchain.Chain
	t   *testing.T
	all map[string]jsonrpc.Method
}

func open(t *testing.T, dir string) *suite {
	t.Helper()
	return openAs(t, dir, testchain.Options{Fail: func(err error) { t.Error(err) }})
}

func openAs(t *testing.T, dir string, o testchain.Options) *suite {
	t.Helper()
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	c, err := testchain.Open(t.Context(), dir, nil, o)
	if err != nil {
		t.Fatal(err)
	}
	return &suite{c, t, c.Methods()}
}

func (s *suite) close() {
	s.t.Helper()
	if err := s.Close(); err != nil {
		s.t.Fatal(err)
	}
}

// call calls a method, and returns the result as JSON.
func (s *suite) call(method string, params ...any) string {
	s.t.Helper()
	text, err := json.Marshal(append([]any{}, params...))
	if err != nil {
		s.t.Fatal(err)
	}
	result, err := s.all[method](context.Background(), text)
	if err != nil {
		return err.Error()
	}
	text, err = json.Marshal(result)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

var (
	from = genesis.Accounts[1]
	to   = common.HexToAddress("0xaa")
	key  = genesis.Keys()[1]
)

// send sends wei with the next nonce.
func (s *suite) send(wei int64) common.Hash {
	s.t.Helper()
	return s.sign(&types.DynamicFeeTx{Gas: 21_000, To: &to, Value: big.NewInt(wei)})
}

// sendTo calls a contract.
func (s *suite) sendTo(contract common.Address) common.Hash {
	s.t.Helper()
	return s.sign(&types.DynamicFeeTx{Gas: 100_000, To: &contract, Data: []byte{1, 2}})
}

func (s *suite) sign(tx *types.DynamicFeeTx) common.Hash {
	s.t.Helper()
	done := s.Submit(context.Background(), [][]byte{s.signed(tx)})[0]
	if done.Err != nil {
		s.t.Fatal(done.Err)
	}
	return done.Hash
}

// signed signs a transaction with the next nonce, or one after it.
func (s *suite) signed(tx *types.DynamicFeeTx) []byte {
	s.t.Helper()
	nonce, _ := s.Nonce(from)
	tx.ChainID, tx.Nonce, tx.GasFeeCap, tx.GasTipCap = s.Genesis().Config.ChainID, nonce+tx.Nonce, big.NewInt(1e11), big.NewInt(1)
	raw, err := types.MustSignNewTx(key, types.LatestSigner(s.Genesis().Config), tx).MarshalBinary()
	if err != nil {
		s.t.Fatal(err)
	}
	return raw
}

// image is what clients can see of the chain.
func (s *suite) image() string {
	s.t.Helper()
	head := s.Head()
	db, err := s.StateAt(head)
	if err != nil {
		s.t.Fatal(err)
	}
	executable, queued := s.Stats()
	nonce, _ := s.Nonce(from)
	return fmt.Sprintln(head.Hash(), head.Number, head.Time, db.GetBalance(to), db.GetBalance(from), db.GetNonce(from), nonce, db.GetState(to, common.Hash{}),
		executable, queued, s.call("anvil_getAutomine"), s.Impersonated(to))
}

// balance is that after the last block and what was written since.
func (s *suite) balance(wei int64) {
	s.t.Helper()
	db, err := s.StateAt(s.Head())
	if err != nil {
		s.t.Fatal(err)
	}
	if got := db.GetBalance(to).ToBig(); got.Int64() != wei {
		s.t.Errorf("the balance is %v, want %d", got, wei)
	}
}

// want checks the result of a call.
func (s *suite) want(result, method string, params ...any) {
	s.t.Helper()
	if got := s.call(method, params...); got != result {
		s.t.Errorf("%s %v: %s, want %s", method, params, got, result)
	}
}

// Snapshots are brought back with those within them gone, and blocks, receipts, nonces and what was
// written with them.
func TestSnapshots(t *testing.T) {
	s := open(t, t.TempDir())
	defer s.close()
	s.want(`"0x0"`, "evm_snapshot")
	first := s.send(5)
	s.want(`"0x1"`, "anvil_snapshot")
	s.want("null", "anvil_setBalance", to, "0x64")
	second := s.send(1)
	s.balance(101)
	s.want("true", "evm_revert", "0x1")
	s.balance(5)
	if _, _, err := s.Transaction(second); err == nil {
		t.Error("a transaction that was taken back is there")
	}
	if n, _, err := s.Transaction(first); err != nil || n != 1 {
		t.Errorf("the transaction before is in block %d: %v", n, err)
	}
	s.want("false", "evm_revert", "0x1")
	s.want(`"0x2"`, "evm_snapshot")
	s.want("true", "evm_revert", "0x0")
	s.balance(0)
	if nonce, _ := s.Nonce(from); nonce != 0 || s.Head().Number.Sign() != 0 {
		t.Errorf("nonce %d at block %v", nonce, s.Head().Number)
	}
	s.want("false", "evm_revert", "0x2")
	s.send(7)
	s.balance(7)
}

// The clock is set, goes on from there, and goes back.
func TestClock(t *testing.T) {
	s := open(t, t.TempDir())
	defer s.close()
	began := s.Head().Time
	s.want("null", "evm_setNextBlockTimestamp", began+1000)
	s.want(`"0x0"`, "evm_mine")
	if s.Head().Time != began+1000 {
		t.Errorf("the time is %d, want %d", s.Head().Time, began+1000)
	}
	s.want(fmt.Sprintf("Timestamp error: %d is lower than previous block's timestamp", began), "evm_setNextBlockTimestamp", began)
	s.call("evm_increaseTime", "0xe10")
	s.want(`"0x0"`, "evm_mine")
	if s.Head().Time < began+4600 {
		t.Errorf("an hour later it is %d", s.Head().Time-began)
	}
	last := s.Head().Time
	s.want("null", "anvil_mine", "0x3", "0x3c")
	if s.Head().Time < last+120 || s.Head().Number.Uint64() != 5 {
		t.Errorf("three blocks later it is %d, at block %v", s.Head().Time-last, s.Head().Number)
	}
	s.want("0", "evm_setTime", began+10)
	s.want(`"0x0"`, "evm_mine")
	if got := s.Head().Time; got < began+10 || got > began+1000 {
		t.Errorf("then it is %d", got-began)
	}
	s.want("null", "anvil_setBlockTimestampInterval", 7)
	s.want(`"0x0"`, "evm_mine")
	at := s.Head().Time
	s.want(`"0x0"`, "evm_mine")
	if s.Head().Time != at+7 {
		t.Errorf("a block later it is %d", s.Head().Time-at)
	}
	s.want("true", "anvil_removeBlockTimestampInterval")
}

// The mark of a transaction without a signature is accepted for accounts that are impersonated only.
func TestImpersonated(t *testing.T) {
	s := open(t, t.TempDir())
	defer s.close()
	s.want("null", "hardhat_setBalance", to, "0xde0b6b3a7640000")
	raw := s.marked(0)
	if done := s.Submit(t.Context(), [][]byte{raw})[0]; done.Err == nil {
		t.Error("a forged sender is accepted")
	}
	s.want("null", "hardhat_impersonateAccount", to)
	if done := s.Submit(t.Context(), [][]byte{raw})[0]; done.Err != nil {
		t.Error(done.Err)
	}
}

// marked is a transaction of an account without its key.
func (s *suite) marked(nonce uint64) []byte {
	s.t.Helper()
	tx := types.NewTx(&types.DynamicFeeTx{ChainID: s.Genesis().Config.ChainID, Nonce: nonce, Gas: 21_000, GasFeeCap: big.NewInt(1e10), To: &from, Value: big.NewInt(1)})
	tx, err := execution.Impersonate(tx, to, types.LatestSigner(s.Genesis().Config))
	if err != nil {
		s.t.Fatal(err)
	}
	raw, err := tx.MarshalBinary()
	if err != nil {
		s.t.Fatal(err)
	}
	return raw
}

// A dump has all accounts, and another chain takes it up; anvil's further members are passed by.
func TestDump(t *testing.T) {
	s := open(t, t.TempDir())
	s.call("anvil_setStorageAt", to, "0x3", common.Hash{1})
	s.send(9)
	s.call("anvil_setCode", to, "0x6001")
	var text string
	if err := json.Unmarshal([]byte(s.call("anvil_dumpState")), &text); err != nil {
		t.Fatal(err)
	}
	s.close()
	s = open(t, t.TempDir())
	defer s.close()
	s.want("true", "anvil_loadState", text)
	s.balance(9)
	db, err := s.StateAt(s.Head())
	if err != nil {
		t.Fatal(err)
	}
	if db.GetState(to, common.Hash{31: 3}) != (common.Hash{1}) || len(db.GetCode(to)) != 2 || db.GetNonce(from) != 1 || db.GetBalance(genesis.Accounts[0]).IsZero() {
		t.Error("the accounts are others")
	}
	s.want("true", "hardhat_loadState", hexutil.Bytes(`{"block":{},"accounts":{"0x00000000000000000000000000000000000000aa":{"nonce":3,"balance":"0x5","code":"0x","storage":{}}}}`))
	s.balance(5)
}

// What was answered is the state after kill -9, at any moment, also after reverts, resets and calls
// that failed.
func TestKilled(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	dir := t.TempDir()
	s := open(t, dir)
	defer func() { s.close() }()
	for range 60 {
		s.change(random)
		if random.IntN(4) > 0 {
			continue
		}
		killed := filepath.Join(t.TempDir(), "killed")
		if err := os.CopyFS(killed, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		again := open(t, killed)
		if got, want := again.image(), s.image(); got != want {
			t.Fatalf("opened again: %swant %s", got, want)
		}
		again.close()
	}
}

// change makes a random call.
func (s *suite) change(random *rand.Rand) {
	switch random.IntN(16) {
	case 0, 1, 2:
		s.send(random.Int64N(9))
	case 3:
		s.call("evm_mine")
	case 4:
		s.call("evm_snapshot")
	case 5:
		s.call("evm_revert", fmt.Sprintf("%#x", random.IntN(4)))
	case 6:
		s.call("anvil_setBalance", to, random.IntN(100))
	case 7:
		s.call("anvil_setStorageAt", to, "0x0", common.BigToHash(big.NewInt(random.Int64N(100))))
	case 8:
		s.call("evm_setAutomine", random.IntN(3) > 0)
	case 9:
		s.call("evm_increaseTime", random.IntN(1000))
	case 10:
		s.call("anvil_impersonateAccount", to)
	case 11:
		s.call("anvil_mine", random.IntN(4), random.IntN(100))
	case 12:
		s.call("evm_setNextBlockTimestamp", 1) // fails
	case 13:
		if random.IntN(5) == 0 {
			s.call("anvil_reset")
		}
	case 14:
		s.call("anvil_rollback", random.IntN(3))
	case 15:
		s.call("anvil_reorg", random.IntN(3))
	}
}

// Whatever a client sends, it gets an answer.
func FuzzParams(f *testing.F) {
	f.Add(`["0x00000000000000000000000000000000000000aa","0x1"]`)
	f.Add(`[{"timestamp":4}]`)
	f.Add(`["0x0","0x1"]`)
	c, err := testchain.Open(f.Context(), f.TempDir(), nil, testchain.Options{Log: slog.New(slog.DiscardHandler), Fail: func(err error) { f.Error(err) }})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { c.Close() })
	all := c.Methods()
	delete(all, "anvil_mine") // many blocks take their time
	delete(all, "hardhat_mine")
	delete(all, "evm_mine")
	delete(all, "anvil_reset") // of a fork: FuzzAnswers
	delete(all, "hardhat_reset")
	delete(all, "evm_setIntervalMining")
	delete(all, "anvil_setIntervalMining")
	f.Fuzz(func(t *testing.T, params string) {
		if !json.Valid([]byte(params)) {
			return
		}
		for name, method := range all {
			if _, err := method(context.Background(), []byte(params)); err != nil && err.Error() == "" {
				t.Errorf("%s: an error without a text", name)
			}
		}
	})
}
