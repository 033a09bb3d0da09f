package jsonrpc_test

import (
	"strings"
	"testing"

	"dyno/services/chain/jsonrpc"
	"dyno/services/chain/jsonrpc/jsonrpctest"
)

const viewCall = `{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{"from":"0x7e5f4552091a69125d5dfcb7b8c2659029395bdf",` +
	`"to":"0x2b5ad5c4795c026514f8317c7a215e218dccd6cf","gas":"0x5208","value":"0x0","input":"0x70a08231"},"latest"]}`

// BenchmarkCodec measures reading messages and writing their answers: a call with one string, a
// call with an object, and arrays.
func BenchmarkCodec(b *testing.B) {
	for name, codec := range codecs {
		b.Run(name, func(b *testing.B) { benchmarkCodec(b, codec) })
	}
}

func benchmarkCodec(b *testing.B, c jsonrpc.Codec) {
	array := func(n int) string {
		calls := make([]string, n)
		for i := range calls {
			calls[i] = jsonrpctest.SendCall(i)
		}
		return "[" + strings.Join(calls, ",") + "]"
	}
	for _, m := range []struct{ name, text string }{{"send", jsonrpctest.SendCall(1)}, {"call", viewCall}, {"sends=20", array(20)}, {"sends=1000", array(1000)}} {
		b.Run(m.name, func(b *testing.B) {
			message := []byte(m.text)
			var result any = "0x" + strings.Repeat("ab", 32)
			var batch jsonrpc.Batch
			var answer []byte
			b.SetBytes(int64(len(message)))
			b.ReportAllocs()
			for b.Loop() {
				batch.Reset()
				if no := c.Decode(message, 1000, &batch); no != nil {
					b.Fatal(no)
				}
				for i := range batch.Calls {
					batch.Calls[i].Result = result
				}
				answer = jsonrpc.AppendAnswers(c, answer[:0], &batch, 1<<30)
			}
		})
	}
}
