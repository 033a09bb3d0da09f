import http from 'k6/http';
import { check, sleep, group } from 'k6';

const BASE = __ENV.BASE || 'http://127.0.0.1:8080';
export const options = { vus: 5, duration: '10s', thresholds: { http_req_duration: ['p(95)<500'] } };

export default function () {
  let res = http.post(`${BASE}/login`, JSON.stringify({ user: 'ann', password: 'x' }), { headers: { 'Content-Type': 'application/json' } });
  check(res, { 'logged in': (r) => r.status === 200, 'has token': (r) => r.json('data.token') !== '' });
  const params = { headers: { Authorization: `Bearer ${res.json().data.token}`, 'Content-Type': 'application/json' } };
  sleep(0.5);
  let sku;
  group('order', () => {
    res = http.get(`${BASE}/items?q=book`, params);
    sku = res.json('0.sku');
    res = http.post(`${BASE}/orders`, JSON.stringify({ item: sku, count: 2 }), params);
    check(res, { created: (r) => r.status === 201 });
  });
  const order = JSON.parse(res.body);
  sleep(0.2);
  res = http.get(`${BASE}/orders/${order.id}`, params);
  const paid = http.post(`${BASE}/pay`, JSON.stringify({ orderId: order.id, nonce: order.payment.nonce }), params);
  check(paid, { ok: (r) => r.status === 200 });
  sleep(1);
}
