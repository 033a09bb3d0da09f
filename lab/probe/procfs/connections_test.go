package procfs

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"testing"
)

// connectionRow returns a socket as the kernel describes it, with tcp_info.
func connectionRow(c Connection, segmentsOut, segmentsIn uint32) []byte {
	order, b := binary.NativeEndian, make([]byte, diagLength)
	b[diagFamily], b[diagState] = familyIPv4, 1
	if c.Listening {
		b[diagState] = stateListen
	}
	binary.BigEndian.PutUint16(b[diagSourcePort:], c.Local)
	binary.BigEndian.PutUint16(b[diagTargetPort:], c.Remote.Port())
	copy(b[diagTarget:], c.Remote.Addr().AsSlice())
	order.PutUint32(b[diagInode:], uint32(c.Inode))
	b = append(b, 5, 0, 1, 0, 9, 0, 0, 0) // another attribute, of 5 bytes
	info := make([]byte, attributeHeader+infoLength)
	order.PutUint16(info, uint16(len(info)))
	order.PutUint16(info[2:], attributeInfo)
	order.PutUint32(info[attributeHeader+infoSent:], c.Sent)
	order.PutUint32(info[attributeHeader+infoReceived:], c.Received)
	order.PutUint32(info[attributeHeader+infoSegmentsOut:], segmentsOut)
	order.PutUint32(info[attributeHeader+infoSegmentsIn:], segmentsIn)
	return append(b, info...)
}

func TestParseConnections(t *testing.T) {
	to := netip.MustParseAddrPort("127.0.0.1:8080")
	asked := Connection{Inode: 5, Local: 4711, Remote: to, Sent: 4, Received: 60}
	first := Connection{Inode: 6, Local: 4712, Remote: to, Sent: 8, Received: 8}
	listens := Connection{Inode: 7, Listening: true, Local: 8080, Remote: netip.MustParseAddrPort("0.0.0.0:0")}
	packet := slices.Concat(message(diagKind, connectionRow(asked, 3, 2)), message(diagKind, connectionRow(first, 1, 0)), message(diagKind, connectionRow(listens, 0, 0)))
	first.Received, listens.Sent, listens.Received = Never, Never, Never
	if got, done := parseConnections(packet, nil); done || !slices.Equal(got, []Connection{asked, first, listens}) {
		t.Errorf("%+v, done %v", got, done)
	}
	const stream = maxQuestion + 1
	if got, _ := parseConnections(message(diagKind, connectionRow(asked, stream, 0)), nil); len(got) != 1 || got[0].Sent != Never {
		t.Errorf("a connection that only sends: %+v", got)
	}
	cut := connectionRow(asked, 3, 2)
	if got, done := parseConnections(message(diagKind, cut[:len(cut)-8]), nil); done || len(got) != 0 {
		t.Errorf("cut short: %+v, done %v", got, done)
	}
}

func FuzzParseConnections(f *testing.F) {
	f.Add(message(diagKind, connectionRow(Connection{Inode: 5, Remote: netip.MustParseAddrPort("127.0.0.1:80")}, 1, 1)))
	f.Add(message(netlinkDone, nil))
	f.Fuzz(func(t *testing.T, packet []byte) {
		all, _ := parseConnections(packet, nil)
		if len(all) > len(packet)/(netlinkHeader+diagLength) {
			t.Errorf("%d sockets in %d bytes", len(all), len(packet))
		}
		for _, c := range all {
			if !c.Remote.IsValid() {
				t.Errorf("%+v", c)
			}
		}
	})
}
