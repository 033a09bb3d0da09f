import http from 'k6/http';
import { check, sleep, group } from 'k6';
import { SharedArray } from 'k6/data';
import ws from 'k6/ws';
import { randomItem } from 'https://jslib.k6.io/k6-utils/1.4.0/index.js';

const BASE = __ENV.BASE_URL || 'http://127.0.0.1:8080';
const users = new SharedArray('users', () => JSON.parse(open('./users.json')));
const params = { headers: { 'Content-Type': 'application/json', 'X-Version': 2 }, tags: { name: 'create order' } };
let token;

export const options = {
  vus: 10,
  duration: '30s',
  thresholds: {
    http_req_duration: ['p(95)<500', 'p(99.9) < 1500', 'p(42)<1'],
    http_req_failed: [{ threshold: 'rate<0.01', abortOnFail: true }],
    checks: ['rate>0.9'],
  },
};

export function setup() {
  const res = http.post(`${BASE}/login`, { user: 'ada' });
  return { token: res.json('token') };
}

export default function (data) {
  http.get(`${BASE}/items?page=1`);
  const res = http.get(BASE + '/items/' + 7, { headers: { Accept: 'text/html', Authorization: `Bearer ${data.token}` } });
  check(res, { ok: (r) => r.status === 200 });
  http.post(`${BASE}/orders`, JSON.stringify({ item: 7, note: 'fast', tags: ['a', true, null] }), params);
  http.post(`${BASE}/form`, { a: 1, b: 'x y' });
  group('browse', () => {
    for (let i = 0; i < 3; i++) {
      http.get(`${BASE}/page/${i}`);
      http.del(http.url`${BASE}/cart`);
    }
  });
  http.get(`${BASE}/users/${randomItem(users).id}`);
  http.put(`${BASE}/orders/1`, body());
  http.batch([
    ['GET', `${BASE}/a`],
    { method: 'POST', url: `${BASE}/b`, body: 'text' },
    `${BASE}/c`,
    [method(), `${BASE}/d`],
  ]);
  http.request('PATCH', `${BASE}/e`, '{}', { ...params, headers: { 'X-Trace': res.headers.Trace } });
  token = res.json('id');
  http.get(`${BASE}/${token}`);
  sleep(1);
}
