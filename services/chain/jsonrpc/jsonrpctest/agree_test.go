package jsonrpctest_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"dyno/parts/quicktest"
	"dyno/services/chain/jsonrpc"
	"dyno/services/chain/jsonrpc/jsonrpctest"
	"dyno/services/chain/jsonrpc/scan"
)

var codecs = map[string]jsonrpc.Codec{"std": jsonrpc.Std{}, "scan": scan.Codec{}}

// seeds returns the messages of the suite.
func seeds() (messages []string) {
	for _, c := range jsonrpctest.Cases {
		messages = append(messages, c.Message)
	}
	for _, text := range jsonrpctest.NoJSON {
		messages = append(messages, text, fmt.Sprintf(`[{"jsonrpc":"2.0","id":%s,"method":"m","params":[{"a":1}]}]`, text))
	}
	return messages
}

// All codecs make the same of any bytes.
func FuzzAgree(f *testing.F) {
	for _, message := range seeds() {
		if len(message) < 10_000 {
			f.Add([]byte(message))
		}
	}
	f.Fuzz(func(t *testing.T, message []byte) { jsonrpctest.Agree(t, message, codecs) })
}

// Messages with a few bytes changed, as a network and an attacker do.
func TestAgreeOnChanged(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const bytes = `{}[]",:\u0d8e-+.1tfnx` + " \n\x00\x1f\x7f\x80\xc3\xa9\xed\xa0\xff"
	all := seeds()
	for range quicktest.Of(30_000, 1_000_000) {
		message := []byte(all[random.IntN(len(all))])
		if len(message) > 2000 {
			continue
		}
		for range 1 + random.IntN(3) {
			at := random.IntN(len(message) + 1)
			b := bytes[random.IntN(len(bytes))]
			switch random.IntN(4) {
			case 0:
				message = append(message[:at], append([]byte{b}, message[at:]...)...)
			case 1:
				message = message[:at]
			case 2: // a copy of a piece, such as a member that then occurs twice
				end := at + random.IntN(min(len(message)-at, 30)+1)
				message = append(message[:end:end], message[at:]...)
			default:
				if at < len(message) {
					message[at] = b
				}
			}
		}
		if jsonrpctest.Agree(t, message, codecs); t.Failed() {
			return
		}
	}
}
