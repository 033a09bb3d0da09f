package jsonrpctest

import (
	"fmt"
	"strings"

	"dyno/services/chain/jsonrpc"
)

// Cases are messages with what a codec must make of them: a code for a message that is refused as a
// whole, and for each call its id and either its method and params, or the code of its error.
var Cases = []Case{
	{`{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}`, 0, []string{`1 eth_chainId `}},
	{`{"jsonrpc":"2.0","id":1,"method":"m","params":[]}`, 0, []string{`1 m []`}},
	{`{"jsonrpc":"2.0","id":1,"method":"m","params":{"a": [1]}}`, 0, []string{`1 m {"a": [1]}`}},
	{`{"jsonrpc":"2.0","id":1,"method":"m","params":null}`, 0, []string{`1 m `}},
	{" \t\r\n{ \"id\" : 1 ,\n\"method\" : \"m\",\"params\":[ \"0x\" , true,false , null ] , \"jsonrpc\":\"2.0\" } \n", 0,
		[]string{`1 m [ "0x" , true,false , null ]`}},
	{`{"jsonrpc":"2.0","method":"m","params":["x"]}`, 0, []string{`- m ["x"]`}},
	{`{"jsonrpc":"2.0","id":null,"method":"m"}`, 0, []string{`null m `}},
	{`{"jsonrpc":"2.0","id":"","method":""}`, 0, []string{`""  `}},
	{`{"jsonrpc":"2\u002e0","id":"\u0031\"","m\u0065thod":"\u006d"}`, 0, []string{`"\u0031\"" m `}},
	{`{"jsonrpc":"2.0","id":"<é\ud83d\ude00&>","method":"é\ud83d\ude00"}`, 0, []string{`"<é\ud83d\ude00&>" é😀 `}},
	{`{"jsonrpc":"2.0","id":-1.50e+99,"method":"m"}`, 0, []string{`-1.50e+99 m `}},
	{`{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"m"}`, 0, []string{`123456789012345678901234567890 m `}},
	{`{"jsonrpc":"2.0","id":1e999,"method":"m","params":[1e999,-0,0.1E-2]}`, 0, []string{`1e999 m [1e999,-0,0.1E-2]`}},
	{`{"jsonrpc":"2.0","id":1,"method":"m","other":{"a":[]},"ID":2,"":3}`, 0, []string{`1 m `}},
	{`[{"jsonrpc":"2.0","id":2,"method":"a"}]`, 0, []string{`2 a `}},
	{`[{"jsonrpc":"2.0","id":2,"method":"a"} , {"jsonrpc":"2.0","method":"b"},{"jsonrpc":"2.0","id":2,"method":"c","params":[[]]}]`, 0,
		[]string{`2 a `, `- b `, `2 c [[]]`}},
	{`[1,"x",null,[],{},[{"jsonrpc":"2.0","id":1,"method":"m"}]]`, 0,
		[]string{`null -32600`, `null -32600`, `null -32600`, `null -32600`, `null -32600`, `null -32600`}},
	{`[{"jsonrpc":"2.0","id":1,"method":1},{"jsonrpc":"2.0","id":2,"method":"m"}]`, 0, []string{`1 -32600`, `2 m `}},

	// No calls.
	{`1`, 0, []string{`null -32600`}},
	{`"x"`, 0, []string{`null -32600`}},
	{`null`, 0, []string{`null -32600`}},
	{`{}`, 0, []string{`null -32600`}},
	{`{"id":7}`, 0, []string{`7 -32600`}},
	{`{"jsonrpc":"1.0","id":7,"method":"m"}`, 0, []string{`7 -32600`}},
	{`{"jsonrpc":2.0,"id":7,"method":"m"}`, 0, []string{`7 -32600`}},
	{`{"jsonrpc":"2.0","id":7}`, 0, []string{`7 -32600`}},
	{`{"jsonrpc":"2.0","id":7,"method":null}`, 0, []string{`7 -32600`}},
	{`{"jsonrpc":"2.0","id":7,"result":"0x"}`, 0, []string{`7 -32600`}},
	{`{"Jsonrpc":"2.0","id":7,"Method":"m"}`, 0, []string{`7 -32600`}},
	{`{"jsonrpc":"2.0","id":7,"method":"m","params":"x"}`, 0, []string{`7 -32602`}},
	{`{"jsonrpc":"2.0","id":7,"method":"m","params":7}`, 0, []string{`7 -32602`}},
	{`{"jsonrpc":"2.0","id":7,"method":"m","params":false}`, 0, []string{`7 -32602`}},
	{`{"jsonrpc":"2.0","method":"m","params":7}`, 0, []string{`- -32602`}},
	{`{"jsonrpc":"2.0","method":1,"params":"bar"}`, 0, []string{`null -32600`}},
	{`{"jsonrpc":"2.0","id":true,"method":"m"}`, 0, []string{`null -32600`}},
	{`{"jsonrpc":"2.0","id":false,"method":"m"}`, 0, []string{`null -32600`}},
	{`{"jsonrpc":"2.0","id":[1],"method":"m"}`, 0, []string{`null -32600`}},
	{`{"jsonrpc":"2.0","id":{"a":1},"method":"m"}`, 0, []string{`null -32600`}},

	// Names that occur twice.
	{`{"jsonrpc":"2.0","id":7,"method":"m","method":"n"}`, 0, []string{`7 -32600`}},
	{`{"jsonrpc":"2.0","id":7,"id":8,"method":"m"}`, 0, []string{`null -32600`}},
	{`{"jsonrpc":"2.0","id":7,"\u0069d":7,"method":"m"}`, 0, []string{`null -32600`}},
	{`{"jsonrpc":"2.0","id":7,"method":"m","x":1,"x":1}`, 0, []string{`7 -32600`}},
	{`{"jsonrpc":"2.0","id":7,"method":"m","params":[{"a":1,"b":[{"c":1,"\u0063":2}]}]}`, 0, []string{`7 -32600`}},
	{`{"jsonrpc":"2.0","id":7,"method":"m","params":[{"a":1,"A":1},{"a":1,"b":{"a":1}}]}`, 0, []string{`7 m [{"a":1,"A":1},{"a":1,"b":{"a":1}}]`}},
	{`{"jsonrpc":"2.0","id":{"a":1,"a":1},"method":"m"}`, 0, []string{`null -32600`}},
	{`[{"jsonrpc":"2.0","id":7,"method":"m","params":{"a":1,"a":2}},{"jsonrpc":"2.0","id":8,"method":"m"},[{"a":1,"a":1}]]`, 0,
		[]string{`7 -32600`, `8 m `, `null -32600`}},
	{`{"jsonrpc":"2.0","id":7,"method":"m","params":[{` + names(100) + `}]}`, 0, []string{`7 m [{` + names(100) + `}]`}},
	{`{"jsonrpc":"2.0","id":7,"method":"m","params":[{` + names(100) + `,"n99":0}]}`, 0, []string{`7 -32600`}},
	{`{"jsonrpc":"2.0","id":7,"method":"m","params":[{` + names(100) + `,"n\u0030":0}]}`, 0, []string{`7 -32600`}},

	// No arrays of calls.
	{`[]`, jsonrpc.InvalidRequest, nil},
	{` [ ] `, jsonrpc.InvalidRequest, nil},
	{`[` + strings.Repeat(`1,`, maxCalls) + `1]`, jsonrpc.InvalidRequest, nil},
	{`[` + strings.Repeat(`1,`, maxCalls) + `]`, jsonrpc.ParseError, nil},

	// Nested as deeply as permitted, and deeper.
	{nested(jsonrpc.MaxDepth - 1), 0, []string{`1 m ` + nest(jsonrpc.MaxDepth-1)}},
	{nested(jsonrpc.MaxDepth), jsonrpc.ParseError, nil},
	{nested(100_000), jsonrpc.ParseError, nil},
	{strings.Repeat(`[`, 100_000), jsonrpc.ParseError, nil},
	{strings.Repeat(`{"a":`, 100_000), jsonrpc.ParseError, nil},
	{`{"jsonrpc":"2.0","id":1,"method":"m","params":["` + strings.Repeat(`[{\"\\`, 100) + `"]}`, 0,
		[]string{`1 m ["` + strings.Repeat(`[{\"\\`, 100) + `"]`}},
}

// NoJSON are texts that are refused with -32700, alone and as parameters.
var NoJSON = []string{
	``, ` `, `{`, `}`, `[`, `]`, `[1`, `[1,`, `[1,]`, `[,1]`, `[1 2]`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{"a" 1}`, `{"a":1 "b":2}`, `{1:2}`, `{"a":1]`, `[1}`, `{,}`,
	`NaN`, `Infinity`, `-Infinity`, `-`, `+1`, `01`, `-01`, `.5`, `1.`, `1.e1`, `1e`, `1e+`, `0x10`, `1_000`, `nul`, `nulls`, `True`, `tru`, `falsee`, `undefined`,
	`"`, `"a`, `"\"`, `"\x"`, `"\u12"`, `"\u12g4"`, `"\U0041"`, `'a'`, "\"\n\"", "\"\t\"", "\"\x00\"", "\"\x1f\"",
	`"\ud800"`, `"\udc00"`, `"\ud800\ud800"`, `"\ud800\u0041"`, `"\ud800x"`, `"\ud800\n"`, `"\udc00\ud800"`, `{"\ud800":1}`,
	"\"\xff\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"", "\"\xe2\x82\"", "{\"\xff\":1}", "\ufeff1", "\u00a01", "1\v", "1\f", "1\x00",
	`1 1`, `{} {}`, `[]x`, `{}]`, `""""`, `/**/1`, `1//`, "\xff",
}

// Case is a message and what a codec must make of it.
type Case struct {
	Message string
	Code    int      // of the error for the whole message; 0: none
	Calls   []string // "ID METHOD PARAMS" or "ID CODE"; the ID of a notification is -
}

// nest returns arrays in one another.
func nest(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }

// nested returns a call whose params are nested.
func nested(depth int) string {
	return `{"jsonrpc":"2.0","id":1,"method":"m","params":` + nest(depth) + `}`
}

// names returns members n0 to n99 of an object.
func names(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(`"n` + itoa(i) + `":` + itoa(i) + `,`)
	}
	return strings.TrimSuffix(b.String(), ",")
}

// SendCall returns a call of eth_sendRawTransaction with the size of a signed transfer (110 bytes
// in hexadecimal).
func SendCall(id int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"eth_sendRawTransaction","params":["0x%s"]}`, id, strings.Repeat("02f86d8205", 22))
}
