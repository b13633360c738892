// A proxy that adds a token to each request, for a client that has none. Prints its address.
import http from 'node:http';

const [target, token] = process.argv.slice(2);
const { hostname, port } = new URL(target);
const server = http.createServer((asked, answer) => {
  const headers = { ...asked.headers, authorization: `Bearer ${token}` };
  const passed = http.request({ hostname, port, path: asked.url, method: asked.method, headers }, (got) => {
    answer.writeHead(got.statusCode, got.headers);
    got.pipe(answer);
  });
  passed.on('error', () => answer.destroy());
  answer.on('close', () => passed.destroy());
  asked.pipe(passed);
});
server.listen(0, '127.0.0.1', () => console.error(`http://127.0.0.1:${server.address().port}`));
