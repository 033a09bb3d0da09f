package scan_test

import (
	"testing"

	"dyno/services/chain/jsonrpc"
	"dyno/services/chain/jsonrpc/jsonrpctest"
	"dyno/services/chain/jsonrpc/scan"
)

func TestCodec(t *testing.T) { jsonrpctest.Test(t, newCodec) }

func newCodec() jsonrpc.Codec { return scan.Codec{} }

// The envelope of a call and the value of its answer cost no allocation.
func TestAllocations(t *testing.T) {
	for _, message := range []string{
		jsonrpctest.SendCall(1),
		`{"jsonrpc":"2.0","id":"\u0031","method":"eth_chainId"}`,
		`{"id":1,"method":"eth_call","params":[{"to":"0x1","data":"0x2"},"latest"],"jsonrpc":"2.0"}`,
		"[" + jsonrpctest.SendCall(1) + "," + jsonrpctest.SendCall(2) + "]",
	} {
		c, text := newCodec(), []byte(message)
		var result any = "0xabcdef"
		var batch jsonrpc.Batch
		var answer []byte
		n := testing.AllocsPerRun(1000, func() {
			batch.Reset()
			if no := c.Decode(text, 10, &batch); no != nil || batch.Calls[0].Error != nil {
				t.Fatal(no)
			}
			answer, _ = c.AppendValue(answer[:0], result)
		})
		if n != 0 {
			t.Errorf("%s: %v allocations", message, n)
		}
	}
}
