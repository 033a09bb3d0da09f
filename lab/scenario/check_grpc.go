package scenario

import "dyno/lab/scenario/document"

func (c *checker) grpc(p document.Path) {
	l := &c.s.Load
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
}
