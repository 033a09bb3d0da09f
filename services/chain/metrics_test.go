package chain_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// The metrics have the names and labels that the documentation gives, and what clients make up is
// no label.
func TestMetrics(t *testing.T) {
	t.Parallel()
	n := serve(t, "--data", imported(t, public), "--read-only")
	n.ask("eth_chainId", "[]")
	n.ask("eth_chainId", "[]")
	n.ask("eth_getBalance", `["0x7435ed30a8b4aeb0877cef0c6e8cffe834eb865f","0x37"]`)
	for _, made := range []string{"eth_made", "eth_up", ""} {
		n.ask(made, "[]")
	}
	n.post("{")
	if resp, err := http.Get("http://" + n.listen); err == nil { // which the event loop hands over
		resp.Body.Close()
	}
	resp, err := http.Get("http://" + n.debug + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		`blockchain_block_height{chain_id="3503995874084926"} 54`,
		`blockchain_request_total{chain_id="3503995874084926",method="eth_chainId",status_code="0"} 2`,
		`blockchain_request_total{chain_id="3503995874084926",method="eth_getBalance",status_code="-32000"} 1`,
		`blockchain_request_total{chain_id="3503995874084926",method="other",status_code="-32601"} 3`,
		`blockchain_request_total{chain_id="3503995874084926",method="other",status_code="-32700"} 1`,
		`blockchain_request_duration_seconds_count{chain_id="3503995874084926",method="eth_chainId",status_code="0"} 2`,
		`blockchain_sockets 0`,
		`blockchain_handed_over_requests_total 1`,
	} {
		if !strings.Contains(string(text), line+"\n") {
			t.Errorf("%s is missing", line)
		}
	}
	if strings.Contains(string(text), "eth_made") {
		t.Error("a client makes a label")
	}
}
