package full

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	"dyno/parts/servicetest"
	"dyno/services/chain/chaintest"
)

const chainID = `{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}`

// messages are attacks by the form of a message, whatever it calls.
var messages = []attack{
	{"an array of 100,000 numbers", cheaply(40e6, post("["+strings.Repeat("1,", 99_999)+"1]")), "-32600 the array has 100000 calls, and 1000 are permitted"},
	{"an array of 80,000 calls", cheaply(120e6, post("["+strings.Repeat(chainID+",", 79_999)+chainID+"]")), "-32600 the array has 80000 calls, and 1000 are permitted"},
	{"an array of 100,000 calls", cheaply(3e6, post("["+strings.Repeat(chainID+",", 99_999)+chainID+"]")), "413 ...the message is larger than 5000000 bytes"},
	{"an array of 1,001 calls", post("[" + strings.Repeat(chainID+",", 1000) + chainID + "]"), "-32600 the array has 1001 calls, and 1000 are permitted"},
	{"an array of nothing", post("[]"), "-32600 "},
	{"an array of arrays", post("[[" + chainID + "]]"), "-32600 "},
	{"1,000 calls with 130 MB of answers", func(a *target) string {
		one := message("eth_call", `[{"to":"`+brought+`"},"latest",{"`+brought+`":{"code":"0x61fff05ff3"}}]`) // returns 65,520 bytes
		return told(a.TryPost("["+strings.Repeat(one+",", 999)+one+"]", nil))
	}, "-32003 ...too large"},
	{"a body of more than 5 MB", post(strings.Repeat(" ", 5<<20) + chainID), "413 ...the message is larger than 5000000 bytes"},
	{"a body of more than 5 MB, in pieces", chunked, "413 ...the message is larger than 5000000 bytes"},
	{"a compressed body", post("\x1f\x8b", "Content-Encoding", "gzip"), "415 ...the body must not be compressed"},
	{"100,000 arrays in one another", cheaply(10e6, post(strings.Repeat("[", 100_000)+strings.Repeat("]", 100_000))), "-32700 the message is not valid JSON"},
	{"100,000 objects in one another", cheaply(10e6, post(strings.Repeat(`{"a":`, 100_000))), "-32700 the message is not valid JSON"},
	{"parameters nested too deeply", call("eth_call", strings.Repeat("[", 90)+strings.Repeat("]", 90)), "-32700 ...nested too deeply"},
	{"a method named twice", post(`{"jsonrpc":"2.0","id":1,"method":"eth_chainId","method":"eth_sendRawTransaction"}`), "-32600 "},
	{"a field of a parameter twice", call("eth_call", `[{"gas":"0x1","gas":"0x2"}]`), "-32600 "},
	{"bytes that are no UTF-8", post(`{"jsonrpc":"2.0","id":1,"method":"` + "\xff\xc0\x80" + `"}`), "-32700 "},
	{"half of a surrogate pair", post(`{"jsonrpc":"2.0","id":1,"method":"\ud800"}`), "-32700 "},
	{"a byte 0", post("\x00" + chainID), "-32700 "},
	{"two messages", post(chainID + chainID), "-32700 "},
	{"half of a message", post(chainID[:30]), "-32700 "},
	{"an id that is an object", post(`{"jsonrpc":"2.0","id":{"a":[]},"method":"eth_chainId"}`), "-32600 "},
	{"another version", post(`{"jsonrpc":"1.0","id":1,"method":"eth_chainId"}`), "-32600 "},
	{"a method with a name of 1 MB", cheaply(20e6, call(strings.Repeat("m", 1_000_000), `[]`)), "-32601 the method mmm"},
	{"a private method", call("admin_nodeInfo", `[]`), "-32601 the method admin_nodeInfo does not exist"},
	{"bytes that are no transactions", func(a *target) string { return a.submit("these are no transactions") }, `200 {"accepted":[],"refused":[{"index":0,"code":-32000,"message":"the rest of the body is not read`},
	{"no transactions", func(a *target) string { return a.submit("") }, "400 "},
	{"more transactions than a body may have", func(a *target) string { return a.submit(strings.Repeat("\xc0", 100_000)) }, `200 {"accepted":[]...a body has at most 10000 transactions`},
	{"5 MB of transactions", func(a *target) string { return a.submit(strings.Repeat("\xc0", 5_000_001)) }, "413 "},
}

// submit sends a body to /submit.
func (a *target) submit(body string) string {
	resp, text, err := servicetest.Exchange(http.DefaultClient, http.MethodPost, a.Program.URL+"/submit", body, nil)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%d %s", resp.StatusCode, text)
}

// chunked sends a body whose length is not announced.
func chunked(a *target) string {
	body := struct{ io.Reader }{strings.NewReader(strings.Repeat(" ", 6_000_000))}
	resp, err := http.Post(a.Program.URL, "application/json", body)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return told(chaintest.Reply{Status: resp.StatusCode, Body: text}, err)
}
