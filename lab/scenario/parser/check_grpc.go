package parser

import (
	"slices"
	"strings"

	"dyno/lab/scenario/document"
)

// grpcFields are the fields of load that gRPC calls have.
var grpcFields = []string{"kind", "url", "call", "proto", "proto_path", "descriptors", "headers", "body", "body_file", "repeat", "feeder", "once", "keys", "check", "connections", "pipeline", "timeout", "tls", "schedule", "max_rate"}

// grpc checks a load of gRPC calls.
func (c *checker) grpc(p document.Path) {
	l := &c.s.Load
	others := slices.DeleteFunc(c.Fields("load"), func(name string) bool { return slices.Contains(grpcFields, name) })
	c.refuse(p, "has no effect on gRPC calls, which have "+strings.Join(grpcFields, ", "), others...)
	if !c.Has(p.To("url")) || !c.Has(p.To("call")) {
		c.FaultName(p, "needs url and call; write for example url: http://${target.listen}, call: shop.Orders/Create")
	}
	c.refuse(p.To("check"), "gRPC answers with a code, which must be OK; check.json tests the fields of the message", "status", "header")
	c.onlyOne(p, "body", "body_file")
	c.onlyOne(p, "proto", "descriptors")
	if c.Has(p.To("proto_path")) && !c.Has(p.To("proto")) {
		c.FaultName(p.To("proto_path"), "has the folders in which imports of load.proto are; write for example proto: [shop/orders.proto]")
	}
	c.address(p.To("url"), l.URL)
	c.answers(p.To("check"), l.Check)
	if l.Feeder != nil {
		c.feeder(p.To("feeder"), l.Feeder)
	}
}
