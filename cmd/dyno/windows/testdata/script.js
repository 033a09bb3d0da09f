import http from 'k6/http';
import { sleep } from 'k6';

const base = __ENV.BASE_URL;

export const options = { stages: [{ duration: '1h', target: 1000 }] }; // replaced by the number of sessions

export function setup() {
  http.get(`${base}/setup`);
}

export default function () {
  http.get(`${base}/found`);
  http.get(`${base}/missing`);
  sleep(Number(__ENV.PAUSE));
}
