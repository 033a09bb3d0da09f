package chain_test

import (
	"fmt"
	"strings"
	"testing"

	"dyno/parts/quicktest"
)

// Absurd calls are refused with an error that says why, whichever codec reads them, and the node
// goes on.
func TestRefuses(t *testing.T) {
	t.Parallel()
	dir := imported(t, public)
	codecs := []string{"scan", "std"}
	if quicktest.On() {
		codecs = codecs[:1] // services/chain/jsonrpc/jsonrpctest holds them against each other
	}
	for _, codec := range codecs {
		n := serve(t, "--data", dir, "--read-only", "--set", "codec="+codec)
		for _, c := range []struct{ method, params, says string }{
			{"eth_getLogs", `[{"fromBlock":"0x0","toBlock":"0xffffffff"}]`, "block range extends beyond current head block"},
			{"eth_getLogs", `[{"fromBlock":"0x7fffffffffffffff","toBlock":"latest"}]`, "invalid block range params"},
			{"eth_getLogs", `[{"fromBlock":"0xffffffffffffffff"}]`, "block number larger than int64"},
			{"eth_getLogs", `[{"fromBlock":"0x10000000000000000"}]`, "hex number > 64 bits"},
			{"eth_getLogs", `[{"fromBlock":"pending"}]`, "pending logs are not supported"},
			{"eth_getLogs", `[{"topics":[[],[],[],[],[]]}]`, "exceed max topics"},
			{"eth_getLogs", `[{"topics":[["0x12"]]}]`, "invalid argument 0: "},
			{"eth_getLogs", `[{"address":7}]`, "invalid argument 0: "},
			{"eth_getLogs", `[{"address":[` + strings.Repeat("null,", 1000) + `null]}]`, "exceed max addresses or topics"},
			{"eth_getLogs", `[{"blockHash":"0x` + strings.Repeat("12", 32) + `"}]`, "unknown block"},
			{"eth_getLogs", `[]`, "missing value for required argument 0"},
			{"eth_getBlockByNumber", `["0x1"]`, "missing value for required argument 1"},
			{"eth_getBlockByNumber", `["0x01",true]`, "leading zero"},
			{"eth_getBlockByNumber", `["newest",true]`, "without 0x prefix"},
			{"eth_getBlockByNumber", `[1,true]`, "invalid argument 0: "},
			{"eth_getBlockByNumber", `["0x1","yes"]`, "invalid argument 1: "},
			{"eth_getBlockByNumber", `["0x1",true,1]`, "too many arguments, want at most 2"},
			{"eth_getBlockByHash", `["0x1",true]`, "invalid argument 0: "},
			{"eth_getTransactionByBlockNumberAndIndex", `["0x1","0xffffffffffffffff"]`, "null"},
			{"eth_getTransactionByBlockNumberAndIndex", `["0x1","0x10000000000000000"]`, "hex number > 64 bits"},
			{"eth_getTransactionByBlockNumberAndIndex", `["0x1","-0x1"]`, "invalid argument 1: "},
			{"eth_getBalance", `["0x12"]`, "invalid argument 0: "},
			{"eth_getBalance", `["0x7435ed30a8b4aeb0877cef0c6e8cffe834eb865f","0x37"]`, "header not found"},
			{"eth_getBalance", `["0x7435ed30a8b4aeb0877cef0c6e8cffe834eb865f",{"blockHash":"0x` + strings.Repeat("12", 32) + `"}]`, "header for hash not found"},
			{"eth_getBalance", `["0x7435ed30a8b4aeb0877cef0c6e8cffe834eb865f",{}]`, "must specify either BlockHash or BlockNumber"},
			{"eth_getBalance", `["0x7435ed30a8b4aeb0877cef0c6e8cffe834eb865f",{"blockNumber":"0x36"}]`, `"0x`},
			{"eth_getProof", `["0x7435ed30a8b4aeb0877cef0c6e8cffe834eb865f",[` + strings.Repeat(`"0x1",`, 1024) + `"0x1"]]`, "too many storage keys"},
			{"eth_getProof", `["0x7435ed30a8b4aeb0877cef0c6e8cffe834eb865f",["0x1g"]]`, "invalid hex in storage key"},
			{"eth_feeHistory", `["0x1","0x37",[]]`, "request beyond head block"},
			{"eth_feeHistory", `["0x1","latest",[50,50]]`, "invalid reward percentile"},
			{"eth_feeHistory", `["0x1","latest",[101]]`, "invalid reward percentile"},
			{"eth_feeHistory", `["0x1","latest",[` + strings.Repeat("1,", 100) + `1]]`, "invalid reward percentile"},
			{"eth_feeHistory", `["0xffffffffffffffff","latest"]`, `"oldestBlock":"0x0"`},
			{"eth_sendRawTransaction", `["0x02f86b"]`, "only reads its chain"},
			{"eth_sendRawTransaction", `["02f86b"]`, "without 0x prefix"},
			{"eth_sendRawTransaction", `["0x02f86"]`, "odd length"},
			{"eth_sendRawTransaction", `[""]`, "without 0x prefix"},
			{"eth_sendRawTransaction", `[7]`, "-32602"},
			{"eth_mining", `[]`, "the method eth_mining does not exist/is not available"},
			{"eth_chainId", `[1]`, "too many arguments, want at most 0"},
			{"eth_chainId", strings.Repeat("[", 100) + strings.Repeat("]", 100), "nested too deeply"},
		} {
			if got := n.ask(c.method, c.params); !strings.Contains(got, c.says) {
				t.Errorf("%s %.100s: %s, want %q", c.method, c.params, got, c.says)
			}
		}
		n.refusesMessages()
		if n.ask("eth_blockNumber", "[]") != `"0x36"` {
			t.Error("the node no longer answers")
		}
		n.stop()
	}
}

func (n *node) refusesMessages() {
	n.t.Helper()
	for _, c := range []struct {
		message string
		status  int
		says    string
	}{
		{"[" + strings.Repeat(version+",", 1000) + version + "]", 200, "the array has 1001 calls, and 1000 are permitted"},
		{"[]", 200, "-32600"},
		{"{", 200, "-32700"},
		{`{"jsonrpc":"2.0","id":1}`, 200, "-32600"},
		{`{"a":` + strings.Repeat("[", 100_000), 200, "-32700"},
		{`"` + strings.Repeat(" ", 5_000_000) + `"`, 413, "5000000 bytes"},
	} {
		if status, text := n.post(c.message); status != c.status || !strings.Contains(string(text), c.says) {
			n.t.Errorf("%.50s: %d %.200s", c.message, status, text)
		}
	}
	var array []string
	for i := range 1000 {
		array = append(array, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"eth_sendRawTransaction","params":["0x0%d"]}`, i, i%10))
	}
	if status, text := n.post("[" + strings.Join(array, ",") + "]"); status != 200 || strings.Count(string(text), "only reads its chain") != 1000 {
		n.t.Errorf("1,000 transactions: %d %.200s", status, text)
	}
}
