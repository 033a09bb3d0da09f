package wire

import (
	"encoding/json"
	"testing"
)

// BenchmarkMessage reads what a player sends: an input, which comes 30 times a second, and an event.
// "again" is into the memory of the message before, as arenad does for each connection; "anew" and
// "json" are into memory of their own. B/message is the size on the wire, without the frame.
func BenchmarkMessage(b *testing.B) {
	input := &Input{Seq: 5432, AckTick: 2716}
	for n := range uint32(4) { // two new commands, and two older ones again
		input.Commands = append(input.Commands, &Command{Seq: 5429 + n, Buttons: 9, Aim: -12345, ViewTick: 2714})
	}
	event := &GameEvent{TimestampMs: 1_764_000_000_000, EntityId: 17, ActionType: 3, Payload: Place(25, 40_000, -12_000)}
	for _, m := range []struct {
		name   string
		frame  *ClientFrame
		inJSON any
		anew   func() any
	}{
		{"input", &ClientFrame{Body: &ClientFrame_Input{Input: input}}, input, func() any { return new(Input) }},
		{"event", &ClientFrame{Body: &ClientFrame_Event{Event: event}}, event, func() any { return new(GameEvent) }},
	} {
		text, err := json.Marshal(m.inJSON)
		if err != nil {
			b.Fatal(err)
		}
		bytes, err := m.frame.MarshalVT()
		if err != nil {
			b.Fatal(err)
		}
		var frame ClientFrame
		for _, way := range []struct {
			name    string
			message []byte
			read    func([]byte) error
		}{
			{"again", bytes, func(message []byte) error {
				err := frame.UnmarshalVT(message)
				frame.ResetVT()
				return err
			}},
			{"anew", bytes, func(message []byte) error { return new(ClientFrame).UnmarshalVT(message) }},
			{"json", text, func(message []byte) error { return json.Unmarshal(message, m.anew()) }},
		} {
			b.Run(m.name+"/"+way.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if err := way.read(way.message); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(len(way.message)), "B/message")
			})
		}
	}
}
