package core

import (
	"bytes"
	"encoding/binary"
	"strings"

	"google.golang.org/protobuf/proto"

	"dyno/services/arena/arenatest"
	"dyno/services/arena/wire"
)

func closing(code int, reason string) []byte {
	return append(binary.BigEndian.AppendUint16(nil, uint16(code)), reason...)
}

// keepsRFC sends frames that no library sends: each ends its connection with the code that RFC 6455
// and the contract have for it.
func keepsRFC(c *arenatest.Client) {
	const (
		final, cont, text, bin        = arenatest.Final, arenatest.Continuation, arenatest.Text, arenatest.Binary
		closes, ping, pong            = arenatest.Close, arenatest.Ping, arenatest.Pong
		protocol, unsupported, tooBig = 1002, 1003, 1009
	)
	frame := arenatest.Frame
	join := func(frames ...[]byte) []byte { return bytes.Join(frames, nil) }
	large := make([]byte, 4097)
	long := make([]byte, 126)
	ask, err := proto.Marshal(&wire.ClientFrame{Body: &wire.ClientFrame_Ping{Ping: &wire.Ping{ClientMs: 7}}})
	if err != nil {
		c.T.Fatal(err)
	}
	for name, test := range map[string]struct {
		send []byte
		code int
	}{
		"text":                         {frame(final|text, []byte("hello")), unsupported},
		"text in fragments":            {join(frame(text, []byte("he")), frame(final|cont, []byte("llo"))), unsupported},
		"rsv1":                         {frame(final|0x40|bin, ask), protocol},
		"rsv2":                         {frame(final|0x20|bin, ask), protocol},
		"rsv3":                         {frame(final|0x10|bin, ask), protocol},
		"all rsv":                      {frame(final|0x70|bin, ask), protocol},
		"rsv of a ping":                {frame(final|0x40|ping, nil), protocol},
		"opcode 3":                     {frame(final|3, nil), protocol},
		"opcode 4":                     {frame(final|4, ask), protocol},
		"opcode 7":                     {frame(final|7, nil), protocol},
		"opcode 11":                    {frame(final|11, nil), protocol},
		"opcode 15":                    {frame(final|15, nil), protocol},
		"continues nothing":            {frame(final|cont, ask), protocol},
		"continues nothing, not final": {frame(cont, ask), protocol},
		"a message in a message":       {join(frame(bin, ask), frame(final|bin, ask)), protocol},
		"text in a message":            {join(frame(bin, ask), frame(final|text, ask)), protocol},
		"continues after the end":      {join(frame(bin, ask), frame(final|cont, nil), frame(final|cont, nil)), protocol},
		"a ping in fragments":          {frame(ping, nil), protocol},
		"a close in fragments":         {frame(closes, closing(1000, "")), protocol},
		"a long ping":                  {frame(final|ping, long), protocol},
		"a long pong":                  {frame(final|pong, long), protocol},
		"a long close":                 {frame(final|closes, append(closing(1000, ""), long...)), protocol},
		"a close of one byte":          {frame(final|closes, []byte{3}), protocol},
		"close code 0":                 {frame(final|closes, closing(0, "")), protocol},
		"close code 999":               {frame(final|closes, closing(999, "")), protocol},
		"close code 1004":              {frame(final|closes, closing(1004, "")), protocol},
		"close code 1005":              {frame(final|closes, closing(1005, "")), protocol},
		"close code 1006":              {frame(final|closes, closing(1006, "")), protocol},
		"close code 1015":              {frame(final|closes, closing(1015, "")), protocol},
		"close code 2000":              {frame(final|closes, closing(2000, "")), protocol},
		"close code 5000":              {frame(final|closes, closing(5000, "")), protocol},
		"too big":                      {frame(final|bin, large), tooBig},
		"too big in fragments":         {join(frame(bin, large[:4000]), frame(final|cont, large[:97])), tooBig},
		"close 1000":                   {frame(final|closes, closing(1000, "")), 1000},
		"close 1001":                   {frame(final|closes, closing(1001, "bye")), 1001},
		"close 3000":                   {frame(final|closes, closing(3000, "")), 3000},
		"close 4999":                   {frame(final|closes, closing(4999, strings.Repeat("x", 123))), 4999},
	} {
		r := c.Raw()
		r.Write(test.send)
		if got := r.CloseCode(); got != test.code {
			c.T.Errorf("%s: close code %d, not %d", name, got, test.code)
		}
	}

	r := c.Raw()
	r.Write(frame(final|ping, []byte("are you there")))
	if got := r.Find(pong); string(got) != "are you there" {
		c.T.Errorf("a ping was answered by %q", got)
	}
	r.Write(frame(final|pong, []byte("unasked"))) // means nothing
	r.Write(join(frame(bin, ask[:1]), frame(final|ping, []byte("between")), frame(cont, nil), frame(final|cont, ask[1:])))
	if got := r.Find(pong); string(got) != "between" {
		c.T.Errorf("a ping between fragments was answered by %q", got)
	}
	for {
		var f wire.ServerFrame
		if payload := r.Find(bin); payload == nil || proto.Unmarshal(payload, &f) != nil {
			c.T.Fatal("a message in fragments was not answered")
		}
		if f.GetPong().GetClientMs() == 7 {
			break
		}
	}
	r.Write(frame(final|closes, nil))
	if got := r.CloseCode(); got != 0 && got != 1000 && got != 1005 {
		c.T.Errorf("a close without a code was answered by %d", got)
	}
}
