package testchain_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethdb/memorydb"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/ethereum/go-ethereum/trie"

	"dyno/services/chain/api"
	"dyno/services/chain/api/accounts"
	"dyno/services/chain/api/evm"
	"dyno/services/chain/api/filter"
)

// Transactions of an impersonated contract that are sent together get one nonce each, and have traces.
func TestSentTogether(t *testing.T) {
	s := open(t, t.TempDir())
	defer s.close()
	node := api.Backend{Genesis: s.Genesis(), Blocks: s, States: s, Pool: s, Feed: s, Impersonated: s.Impersonated}
	all := api.Methods(node, "test")
	maps.Copy(all, evm.Methods(node, evm.Options{Gas: 1 << 24, Timeout: time.Minute, MaxTrace: 1 << 20}))
	maps.Copy(all, accounts.Methods(node, nil, all))
	s.want("null", "anvil_setBalance", to, "0xde0b6b3a7640000")
	s.want("null", "anvil_setCode", to, "0x00")
	s.want("null", "anvil_impersonateAccount", to)
	hashes := make([]any, 20)
	var sends sync.WaitGroup
	for i := range hashes {
		sends.Go(func() {
			var err error
			if hashes[i], err = all["eth_sendTransaction"](t.Context(), []byte(`[{"from":"`+to.Hex()+`","to":"`+from.Hex()+`","gas":"0x5208","value":"0x1"}]`)); err != nil {
				t.Error(err)
			}
		})
	}
	sends.Wait()
	if nonce, _ := s.Nonce(to); nonce != uint64(len(hashes)) && nonce != uint64(len(hashes)+1) { // a contract may begin with 1
		t.Errorf("after %d transactions the nonce is %d", len(hashes), nonce)
	}
	traced, err := json.Marshal([]any{hashes[0].(common.Hash), map[string]string{"tracer": "callTracer"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := all["debug_traceTransaction"](t.Context(), traced); err != nil {
		t.Error(err)
	}
	// Twice the base fee and such a tip have more than 256 bits.
	for _, method := range []string{"eth_createAccessList", "eth_sendTransaction", "eth_fillTransaction"} {
		_, err := all[method](t.Context(), []byte(`[{"from":"`+to.Hex()+`","to":"`+from.Hex()+`","gas":"0x5208","maxPriorityFeePerGas":"0x`+strings.Repeat("f", 64)+`","authorizationList":[]}]`))
		if err == nil || !strings.Contains(err.Error(), "maxFeePerGas bit length") {
			t.Errorf("%s: %v", method, err)
		}
	}
}

// Followers of what waits see the senders of transactions without a signature.
func TestFollowedSender(t *testing.T) {
	s := open(t, t.TempDir())
	defer s.close()
	all := filter.New(api.Backend{Genesis: s.Genesis(), Blocks: s, States: s, Pool: s, Feed: s, Impersonated: s.Impersonated}).Methods()
	id, err := all["eth_newPendingTransactionFilter"](t.Context(), []byte(`[true]`))
	if err != nil {
		t.Fatal(err)
	}
	s.want("null", "anvil_setBalance", to, "0xde0b6b3a7640000")
	s.want("null", "anvil_impersonateAccount", to)
	if done := s.Submit(t.Context(), [][]byte{s.marked(0)})[0]; done.Err != nil {
		t.Fatal(done.Err)
	}
	ask, err := json.Marshal([]any{id})
	if err != nil {
		t.Fatal(err)
	}
	changes, err := all["eth_getFilterChanges"](t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := json.Marshal(changes); err != nil || !strings.Contains(string(text), `"from":"`+strings.ToLower(to.Hex())+`"`) {
		t.Errorf("the filter has %s, %v", text, err)
	}
}

// What was written since the last block is proved, too.
func TestProved(t *testing.T) {
	s := open(t, t.TempDir())
	defer s.close()
	c := s.client()
	s.send(1)
	s.want("true", "anvil_setStorageAt", to, "0x3", common.Hash{31: 9})
	var p struct {
		Balance      string
		AccountProof []hexutil.Bytes
		StorageProof []struct {
			Value string
			Proof []hexutil.Bytes
		}
	}
	if err := json.Unmarshal([]byte(c.ask("eth_getProof", `["`+to.Hex()+`",["0x3"],"latest"]`)), &p); err != nil || len(p.AccountProof) == 0 || len(p.StorageProof) != 1 {
		t.Fatalf("%+v, %v", p, err)
	}
	nodes := memorydb.New()
	put := func(proof []hexutil.Bytes) (root common.Hash) {
		for _, node := range proof {
			if err := nodes.Put(crypto.Keccak256(node), node); err != nil {
				t.Fatal(err)
			}
		}
		return crypto.Keccak256Hash(proof[0])
	}
	value, err := trie.VerifyProof(put(p.AccountProof), crypto.Keccak256(to[:]), nodes)
	var account types.StateAccount
	if err != nil || rlp.DecodeBytes(value, &account) != nil || account.Balance.Uint64() != 1 {
		t.Fatalf("the account is %x, %v", value, err)
	}
	slot := common.Hash{31: 3}
	put(p.StorageProof[0].Proof)
	value, err = trie.VerifyProof(account.Root, crypto.Keccak256(slot[:]), nodes)
	if err != nil || len(value) != 1 || value[0] != 9 || p.StorageProof[0].Value != "0x9" {
		t.Errorf("the slot is %x, %v", value, err)
	}
}

// Gas is estimated in the next block, where a contract that looks at the block's number may cost more
// than in the last one again; and calls are shown in one list.
func TestEstimateNext(t *testing.T) {
	s := open(t, t.TempDir())
	defer s.close()
	node := api.Backend{Genesis: s.Genesis(), Blocks: s, States: s, Pool: s, Feed: s, Impersonated: s.Impersonated, Named: s.Named}
	all := api.Methods(node, "test")
	maps.Copy(all, evm.Methods(node, evm.Options{Gas: 1 << 24, Timeout: time.Minute, MaxTrace: 1 << 20, Next: true}))
	maps.Copy(all, accounts.Methods(node, nil, all))
	ask := func(method, params string, into any) {
		t.Helper()
		answer, err := all[method](t.Context(), []byte(params))
		if err != nil {
			t.Fatalf("%s: %v", method, err)
		}
		text, err := json.Marshal(answer)
		if err == nil {
			err = json.Unmarshal(text, into)
		}
		if err != nil {
			t.Fatalf("%s: %v", method, err)
		}
	}
	s.want("null", "anvil_setCode", logging, "0x435f5414600a57435f555b00") // if slot 0 is not the block's number, it is set to that
	s.want("null", "anvil_setBalance", to, "0xde0b6b3a7640000")
	s.want("null", "anvil_impersonateAccount", to)
	var named []common.Address
	if ask("eth_accounts", `[]`, &named); len(named) != 1 || named[0] != to {
		t.Errorf("the accounts are %v", named)
	}
	call := `{"from":"` + to.Hex() + `","to":"` + logging.Hex() + `"`
	for range 2 {
		var gas, hash string
		ask("eth_estimateGas", `[`+call+`}]`, &gas)
		ask("eth_sendTransaction", `[`+call+`,"gas":"`+gas+`"}]`, &hash)
		var receipt struct{ Status string }
		if ask("eth_getTransactionReceipt", `["`+hash+`"]`, &receipt); receipt.Status != "0x1" {
			t.Errorf("with the estimated gas %s it has the status %s", gas, receipt.Status)
		}
		var raw string
		var all []map[string]any
		ask("debug_getRawBlock", `["latest"]`, &raw)
		if ask("debug_traceBlock", `["`+raw+`",{"tracer":"noopTracer"}]`, &all); len(all) != 1 || all[0]["txHash"] != hash {
			t.Errorf("the traces of the block's bytes are %v", all)
		}
		var one, block, traced []map[string]any
		ask("trace_transaction", `["`+hash+`"]`, &one)
		ask("trace_block", `["latest"]`, &block)
		ask("debug_traceTransaction", `["`+hash+`",{"tracer":"flatCallTracer"}]`, &traced)
		if len(one) != 1 || !reflect.DeepEqual(one, traced) || !reflect.DeepEqual(block, traced) {
			t.Errorf("the calls are %v, of the block %v, want %v", one, block, traced)
		}
	}
	var none []any
	if ask("trace_block", `["earliest"]`, &none); len(none) != 0 {
		t.Errorf("block 0 has calls: %v", none)
	}
}
