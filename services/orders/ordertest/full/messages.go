package full

import "dyno/services/orders/ordertest"

// formats write a message; each is about 1.2 KB, as real ones are.
var formats = map[string]func(ordertest.Message) string{ordertest.TypeJSON: ordertest.Message.JSON, ordertest.TypePacs: ordertest.Message.Pacs, ordertest.TypeFIX: ordertest.Message.FIX}
