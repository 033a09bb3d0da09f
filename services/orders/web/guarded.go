package web

import (
	"context"
	"net/http"

	"dyno/parts/guard"
)

// Guarded refuses what other sites' pages make browsers send, for servers that are not net/http:
// those are behind the same guard in parts/daemon.
func Guarded(h Handler, g *guard.Guard) Handler {
	return HandlerFunc(func(ctx context.Context, req *Request, resp *Response) {
		seen := guard.Request{Method: req.Method, Host: req.Host, Origin: req.Origin, Site: req.Site, Dest: req.Dest}
		if no := g.Check(seen); no != nil {
			*resp = Response{Status: no.Status, ContentType: "application/json", Body: append(resp.Body, errorBody(no.Text)...)}
			return
		}
		preflight := g.Preflight(seen, req.AskedMethod)
		if preflight {
			resp.Status = http.StatusNoContent
		} else {
			h.Serve(ctx, req, resp)
		}
		add := func(name, value string) {
			if name == "Vary" && resp.Vary != "" {
				resp.Vary += ", " + value
				return
			}
			resp.Share = append(resp.Share, Field{name, value})
		}
		g.Share(req.Origin, add)
		if preflight {
			guard.PreflightHeaders(add)
		}
	})
}
