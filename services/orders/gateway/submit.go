package gateway

import (
	"context"
	"errors"
	"net/http"
	"time"

	"dyno/parts/refusal"
	"dyno/services/orders/encode"
	"dyno/services/orders/message"
	"dyno/services/orders/order"
	"dyno/services/orders/web"
)

// submit answers POST /api/v1/submit: the order and its audit record are committed before it does.
func (g *Gateway) submit(ctx context.Context, req *web.Request, resp *web.Response) {
	enc, m, err := g.message(req)
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

// validate answers POST /api/v1/validate: whether the message could be submitted, and as what
// order. Nothing is stored, and the database is not asked.
func (g *Gateway) validate(_ context.Context, req *web.Request, resp *web.Response) {
	enc, m, err := g.message(req)
	if err != nil {
		g.refuse(req, resp, err)
		return
	}
	o := order.Order{Account: req.Account, Symbol: m.Symbol, Side: m.Side, Status: order.New, Price: m.Price, Qty: m.Qty, UpdatedAt: time.Now()}
	resp.Body = enc.Order(resp.Body, &o, time.Time{})
	g.answer(req, resp, http.StatusOK, enc)
}

// message reads a request's message, which is the caller's own, and the encoder of its answer.
func (g *Gateway) message(req *web.Request) (enc encode.Encoder, m order.Submission, err error) {
	enc, acceptable := g.encoder(req)
	switch {
	case !acceptable:
		return nil, m, errNotAcceptable
	case errors.Is(req.BodyErr, web.ErrTooLarge):
		return nil, m, refusal.New(http.StatusRequestEntityTooLarge, "the message has more than %d bytes", message.MaxSize)
	case req.BodyErr != nil:
		return nil, m, refusal.Field("", "the message did not arrive whole")
	}
	m, err = message.Parse(req.ContentType, req.Body)
	if err == nil && m.Account != "" && m.Account != req.Account {
		err = &refusal.Error{Status: http.StatusForbidden, Field: "account", Text: "the message's account is not the one that the token is for"}
	}
	return enc, m, err
}
