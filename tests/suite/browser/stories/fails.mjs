// A story that fails, to show what its test says then. It opens no page.

import { does, facts, same, story } from './stage.mjs';

await story(async () => {
  console.log('it printed this');
  same(await does('count', { n: facts.n + 1 }), {}, 'planted');
});
