package orders

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"dyno/services/orders/message"
	"dyno/services/orders/web"
)

// submit answers POST /api/v1/submit: the order and its audit record are committed before it does.
func (g *Gateway) submit(ctx context.Context, req *web.Request, resp *web.Response) {
	enc, ok := g.encoder(req)
	switch {
	case !ok:
		g.refuse(req, resp, errNotAcceptable)
		return
	case errors.Is(req.BodyErr, web.ErrTooLarge):
		g.refuse(req, resp, &refusal{status: http.StatusRequestEntityTooLarge, text: fmt.Sprintf("the message has more than %d bytes", maxBody)})
		return
	case req.BodyErr != nil:
		g.refuse(req, resp, badField("", "the message did not arrive whole"))
		return
	}
	m, err := message.Parse(req.ContentType, req.Body)
	if err == nil && m.Account != "" && m.Account != req.Account {
		err = &refusal{status: http.StatusForbidden, field: "account", text: "the message's account is not the one that the token is for"}
	}
	if err != nil {
		g.refuse(req, resp, err)
		return
	}
	receipt, err := g.breaker.Submit(ctx, req.Account, &m)
	if err != nil {
		g.refuse(req, resp, err)
		return
	}
	status := http.StatusCreated
	if receipt.Duplicate {
		status = http.StatusOK
	}
	resp.Body = enc.Receipt(resp.Body, &receipt, m.ClientOrderID)
	g.answer(req, resp, status, enc)
}
