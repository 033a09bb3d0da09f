package main

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/ethereum/go-ethereum/params"
)

// dialect is how a kind of node takes transfers and announces blocks, over JSON-RPC.
type dialect struct {
	path      string // of its WebSockets; empty: that of the URL
	subscribe string // the call that asks for announcements
	method    string // of the call that takes a transfer
	accepted  string // what the answer has once for each accepted transfer

	param func(raw string) string               // the call's only parameter, for a transfer in hexadecimal
	count func(announced []byte) (int64, error) // transfers of a block
}

// ethereum is what chaind and geth speak.
var ethereum = dialect{
	subscribe: `{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}`,
	method:    "eth_sendRawTransaction",
	accepted:  `"result":"0x`,
	param:     func(raw string) string { return "0x" + raw },
	count: func(announced []byte) (int64, error) {
		var head struct {
			Params struct{ Result struct{ GasUsed string } }
		}
		if err := json.Unmarshal(announced, &head); err != nil {
			return 0, err
		}
		gas, err := strconv.ParseInt(head.Params.Result.GasUsed, 0, 64)
		return gas / int64(params.TxGas), err
	},
}

// cometbft is what CometBFT 0.38 and later speak; its application is the kvstore. The call is the
// one that returns before the check, and NewBlockEvents, unlike NewBlock, is short.
var cometbft = dialect{
	path:      "/websocket",
	subscribe: `{"jsonrpc":"2.0","id":1,"method":"subscribe","params":["tm.event='NewBlockEvents'"]}`,
	method:    "broadcast_tx_async",
	accepted:  `"hash":"`,
	param:     pair,
	count: func(announced []byte) (int64, error) {
		var event struct {
			Result struct {
				Data struct {
					Value struct {
						Transfers int64 `json:"num_txs,string"`
					}
				}
			}
		}
		err := json.Unmarshal(announced, &event)
		return event.Result.Data.Value.Transfers, err
	},
}

// pair returns, in base64, a pair of key and value that is as long as the transfer. Its key is a
// part of the signature, so no two transfers have the same.
func pair(raw string) string {
	transfer, err := hex.DecodeString(raw)
	if err != nil || len(transfer) < 2*keyLength {
		return "" // the node refuses it
	}
	text := base64.RawStdEncoding.EncodeToString(transfer)
	text = text[len(text)-len(transfer)+1:]
	last := len(text) - keyLength
	return base64.StdEncoding.EncodeToString([]byte(text[last:] + "=" + text[:last]))
}

// keyLength is the length of the kvstore's keys: 240 bits.
const keyLength = 40

// body returns one call, or an array of calls.
func (d dialect) body(raws []string) []byte {
	body := make([]byte, 0, len(raws)*(len(raws[0])+100))
	for i, raw := range raws {
		if len(raws) > 1 {
			body = append(body, "[,"[min(i, 1)])
		}
		body = strconv.AppendInt(append(body, `{"jsonrpc":"2.0","id":`...), int64(i), 10)
		body = append(append(append(body, `,"method":"`...), d.method...), `","params":["`...)
		body = append(append(body, d.param(raw)...), `"]}`...)
	}
	if len(raws) > 1 {
		body = append(body, ']')
	}
	return body
}

// socketOf returns the address of a node's WebSockets.
func socketOf(url string, d dialect) string {
	if strings.HasPrefix(url, "ws") {
		return url
	}
	address := "ws" + strings.TrimPrefix(url, "http")
	if d.path != "" {
		address = strings.TrimSuffix(address, "/") + d.path
	}
	return address
}
