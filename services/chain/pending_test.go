package chain_test

import (
	"encoding/json"
	"strings"
	"testing"

	"dyno/parts/servicetest"
)

// What waits of the node's own accounts is listed until it is sealed, and consoles see the namespaces
// that there are.
func TestPendingTransactions(t *testing.T) {
	n := serve(t, "--data", t.TempDir(), "--set", "block_interval=1m") // from the first block to the second
	send := func() (hash string) {
		t.Helper()
		const from, to = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266", "0x70997970c51812dc3a010c7d01b50e0d17dc79c8"
		hash = n.ask("eth_sendTransaction", `[{"from":"`+from+`","to":"`+to+`","value":"0x1"}]`)
		if len(hash) != 68 {
			t.Fatal(hash)
		}
		return hash
	}
	first := send()
	servicetest.Await(t, func() string { return "the first block" }, func() bool { return n.ask("eth_getTransactionReceipt", "["+first+"]") != "null" })
	if got := n.ask("eth_pendingTransactions", "[]"); got != "[]" {
		t.Error(got)
	}
	second := send()
	var waiting []struct{ Hash, From string }
	got := n.ask("eth_pendingTransactions", "[]")
	if err := json.Unmarshal([]byte(got), &waiting); err != nil || len(waiting) != 1 || `"`+waiting[0].Hash+`"` != second || waiting[0].From == "" {
		t.Errorf("%s, want that of %s; %v", got, second, err)
	}
	modules := n.ask("rpc_modules", "[]")
	if !strings.Contains(modules, `"eth":"1.0"`) || !strings.Contains(modules, `"rpc":"1.0"`) || strings.Contains(modules, "hardhat") {
		t.Errorf("the namespaces are %s", modules)
	}
}
