// Check that each rule for descriptions finds violations, with a test's own descriptions.
import test from 'ava';
import {description} from '../../helpers/deprecated-api.ts';
import {
  breakingDifferences,
  changeBetween,
  type DescribedApi,
  deprecationFaults,
  earlyRemovals,
  hasGrown,
} from '../../helpers/description-differences.ts';

// biome-ignore lint/suspicious/noExplicitAny: a test changes descriptions of every shape
type Bent = any;

const base = {
  info: {version: '1.0.0'},
  paths: {
    '/things': {
      get: {
        operationId: 'listThings',
        summary: 'All things',
        security: [{ApiKey: []}],
        parameters: [
          {name: 'limit', in: 'query', required: false, schema: {type: 'integer', minimum: 1, maximum: 1000, default: 100}},
          {name: 'colour', in: 'query', required: false, schema: {type: 'string', enum: ['red', 'blue']}},
          {name: 'types', in: 'query', style: 'form', explode: false, schema: {type: 'array', items: {type: 'string'}}},
        ],
        responses: {
          '200': {
            headers: {'X-Total-Count': {required: true, schema: {type: 'integer'}}},
            content: {'application/json': {schema: {type: 'array', items: {$ref: '#/components/schemas/Thing'}}}},
          },
          '404': {$ref: '#/components/responses/NotFound'},
        },
      },
      post: {
        operationId: 'createThing',
        security: [{ApiKey: []}],
        requestBody: {
          required: false,
          content: {
            'application/json': {schema: {$ref: '#/components/schemas/CreateThing'}},
            'application/merge-patch+json': {schema: {$ref: '#/components/schemas/CreateThing'}},
          },
        },
        responses: {'201': {content: {'application/json': {schema: {$ref: '#/components/schemas/Thing'}}}}},
      },
    },
  },
  components: {
    responses: {NotFound: {content: {'application/json': {schema: {$ref: '#/components/schemas/Failure'}}}}},
    schemas: {
      Failure: {type: 'object', properties: {code: {type: 'string'}}, required: ['code'], additionalProperties: false},
      Thing: {
        type: 'object',
        properties: {
          id: {type: 'integer'},
          name: {type: ['string', 'null'], description: 'Its name'},
          at: {type: 'string', format: 'date-time'},
          state: {type: 'string', enum: ['held', 'gone']},
          more: {type: 'string'},
          parent: {$ref: '#/components/schemas/Thing'},
        },
        required: ['id', 'name', 'state'],
        additionalProperties: false,
      },
      CreateThing: {
        type: 'object',
        properties: {
          name: {type: 'string', minLength: 1, maxLength: 10, pattern: '^a'},
          size: {anyOf: [{type: 'integer'}, {type: 'null'}]},
          tags: {type: 'array', maxItems: 5, items: {type: 'string'}},
        },
        required: ['name'],
        additionalProperties: false,
      },
    },
  },
};

const bent = (bend: (document: Bent) => void): DescribedApi => {
  const document = structuredClone(base);
  bend(document);
  return document as unknown as DescribedApi;
};
const original = bent(() => undefined);

const thing = ({components}: Bent) => components.schemas.Thing;
const wanted = ({components}: Bent) => components.schemas.CreateThing;
const list = ({paths}: Bent) => paths['/things'].get;
const create = ({paths}: Bent) => paths['/things'].post;

const breaking: Record<string, [(document: Bent) => void, RegExp]> = {
  'a path is gone': [({paths}) => delete paths['/things'], /^GET \/things: removed$/],
  'a method is gone': [({paths}) => delete paths['/things'].post, /^POST \/things: removed$/],
  'an operation has another name': [d => (list(d).operationId = 'getThings'), /operationId/],
  'an operation needs another key': [d => (list(d).security = []), /security/],
  'a status is gone': [d => delete list(d).responses['404'], /^GET \/things 404: removed$/],
  'a content type of an answer is gone': [d => delete list(d).responses['200'].content['application/json'], /does not come now/],
  'a header is gone': [d => delete list(d).responses['200'].headers['X-Total-Count'], /X-Total-Count: removed/],
  'a header is not always there': [d => (list(d).responses['200'].headers['X-Total-Count'].required = false), /not always there/],
  'a header has another type': [
    d => (list(d).responses['200'].headers['X-Total-Count'].schema = {type: 'string'}),
    /may come now/,
  ],
  'a field of an answer is gone': [d => delete thing(d).properties.more, /^GET \/things 200\[\]\.more: removed$/],
  'a field of a failure is gone': [d => delete d.components.schemas.Failure.properties.code, /404\.code: removed/],
  'a field of an answer is not always there': [d => (thing(d).required = ['id', 'state']), /\.name: not always there now/],
  'a field of an answer has another type': [d => (thing(d).properties.id = {type: 'string'}), /\.id: string may come now/],
  'a field of an answer may be null': [d => (thing(d).properties.id.type = ['integer', 'null']), /\.id: null may come now/],
  'a field of an answer has one more value': [d => thing(d).properties.state.enum.push('lost'), /other values may come now/],
  'a field of an answer has any value': [d => delete thing(d).properties.state.enum, /other values may come now/],
  'a field of an answer has another format': [d => delete thing(d).properties.at.format, /\.at: the format/],
  'a parameter is gone': [d => list(d).parameters.splice(1, 1), /\?colour: removed/],
  'a parameter is required': [d => (list(d).parameters[0].required = true), /\?limit: required now/],
  'a required parameter is new': [
    d => list(d).parameters.push({name: 'of', in: 'query', required: true, schema: {type: 'string'}}),
    /\?of: required, and was not there/,
  ],
  'a parameter takes fewer values': [d => list(d).parameters[1].schema.enum.pop(), /\?colour: values are refused now/],
  'a parameter has another default': [d => (list(d).parameters[0].schema.default = 50), /default is another one/],
  'a parameter is written in another way': [d => (list(d).parameters[2].explode = true), /written in another way/],
  'a maximum is lower': [d => (list(d).parameters[0].schema.maximum = 500), /maximum is lower/],
  'a minimum is higher': [d => (list(d).parameters[0].schema.minimum = 2), /minimum is higher/],
  'a length has a limit': [d => (wanted(d).properties.tags.items.maxLength = 3), /maxLength is lower/],
  'a list may be less long': [d => (wanted(d).properties.tags.maxItems = 4), /maxItems is lower/],
  'a pattern is another one': [d => (wanted(d).properties.name.pattern = '^b'), /pattern is another one/],
  'a body is required': [d => (create(d).requestBody.required = true), /body: required now/],
  'a body is not taken in one type': [
    d => delete create(d).requestBody.content['application/merge-patch+json'],
    /merge-patch\+json is not taken now/,
  ],
  'a field of a request is gone': [d => delete wanted(d).properties.size, /body\.size: removed/],
  'a field of a request is required': [d => wanted(d).required.push('size'), /body\.size: required now/],
  'a required field of a request is new': [
    d => {
      wanted(d).properties.of = {type: 'string'};
      wanted(d).required.push('of');
    },
    /body\.of: required now/,
  ],
  'a field of a request may not be null': [d => (wanted(d).properties.size = {type: 'integer'}), /\.size: null is refused now/],
  'a field of a request has another type': [d => (wanted(d).properties.name.type = 'integer'), /\.name: string is refused now/],
  'a field of a schema is only in a part of it, and narrower': [
    d => {
      const {name, ...rest} = wanted(d).properties;
      wanted(d).properties = rest;
      d.components.schemas.Named = {type: 'object', properties: {name: {...name, maxLength: 9}}, required: ['name']};
      wanted(d).allOf = [{$ref: '#/components/schemas/Named'}];
    },
    /body\.name: maxLength is lower/,
  ],
  'a schema is in another place and narrower': [
    d => {
      d.components.schemas.Wanted = structuredClone(wanted(d));
      delete d.components.schemas.Wanted.properties.tags;
      for (const type of Object.values(create(d).requestBody.content) as Bent[])
        type.schema = {$ref: '#/components/schemas/Wanted'};
    },
    /body\.tags: removed/,
  ],
};

const additions: Record<string, (document: Bent) => void> = {
  'a path': ({paths}) => {
    paths['/more'] = paths['/things'];
  },
  'a status': d => {
    list(d).responses['409'] = list(d).responses['404'];
  },
  'a field of an answer': d => {
    thing(d).properties.new = {type: 'string'};
    thing(d).required.push('new');
  },
  'a field of an answer that is never null any more': d => {
    thing(d).properties.name.type = 'string';
  },
  'fewer values of an answer': d => thing(d).properties.state.enum.pop(),
  'an optional parameter': d => list(d).parameters.push({name: 'of', in: 'query', schema: {type: 'string'}}),
  'an optional field of a request': d => {
    wanted(d).properties.of = {type: 'string'};
  },
  'one more value of a parameter': d => list(d).parameters[1].schema.enum.push('green'),
  'wider bounds': d => {
    list(d).parameters[0].schema.maximum = 5000;
    delete wanted(d).properties.name.pattern;
  },
  'a number in place of an integer': d => {
    wanted(d).properties.size.anyOf[0].type = 'number';
  },
  'a deprecation': d => {
    list(d).deprecated = true;
  },
  'a field called description': d => {
    thing(d).properties.description = {type: 'string'};
  },
};

for (const [what, [bend, message]] of Object.entries(breaking))
  test(`it breaks clients when ${what}`, t => {
    const now = bent(bend);

    t.true(
      breakingDifferences(original, now).some(difference => message.test(difference.what)),
      JSON.stringify(breakingDifferences(original, now)),
    );
    t.is(changeBetween(original, now), 'major');
  });

for (const [what, bend] of Object.entries(additions))
  test(`it is an addition, and breaks no client: ${what}`, t => {
    t.deepEqual(breakingDifferences(original, bent(bend)), []);
    t.is(changeBetween(original, bent(bend)), 'minor');
  });

test('wording is a patch, and nothing is nothing', t => {
  const reworded = bent(d => {
    list(d).summary = 'Every thing';
    thing(d).properties.name.description = 'What it is called';
    d.info.description = 'About it';
  });

  t.is(changeBetween(original, reworded), 'patch');
  t.is(
    changeBetween(
      original,
      bent(d => (d.info.version = '9.9.9')),
    ),
    'none',
  );
});

test('a version grows by what has changed, or by more', t => {
  const grown = (version: string) =>
    (['none', 'patch', 'minor', 'major'] as const).filter(change => hasGrown('1.2.3', version, change)).at(-1);

  for (const version of ['1.2.3', '1.2.2']) t.is(grown(version), 'none', version);
  t.is(grown('1.2.4'), 'patch');
  for (const version of ['1.3.0', '1.10.0']) t.is(grown(version), 'minor', version);
  for (const version of ['2.0.0', '10.0.0']) t.is(grown(version), 'major', version);
  for (const version of ['1.1.9', '0.9.9']) t.is(grown(version), 'none', version);
});

test('nothing is removed that was not deprecated, or before its sunset', t => {
  const mark = {since: '2027-01-01', sunset: '2027-07-01'};
  const announced = bent(d => {
    list(d).parameters[1]['x-deprecation'] = mark;
    thing(d).properties.more['x-deprecation'] = mark;
    create(d)['x-deprecation'] = mark;
  });
  const removed = bent(d => {
    list(d).parameters.splice(1, 1);
    delete thing(d).properties.more;
    delete d.paths['/things'].post;
  });
  const faultsOf = (old: DescribedApi, today: string) => earlyRemovals(breakingDifferences(old, removed), today);

  t.deepEqual(faultsOf(announced, '2027-07-01'), []);
  t.is(faultsOf(announced, '2027-06-30').length, 3);
  t.regex(faultsOf(announced, '2027-06-30')[0] ?? '', / before 2027-07-01$/);
  t.is(faultsOf(original, '2027-07-01').length, 3);
  t.regex(faultsOf(original, '2027-07-01')[0] ?? '', / without having been deprecated$/);
});

test('a sunset less than six months after the announcement is refused, wherever the mark is', t => {
  const marked = (since: string, sunset: string) =>
    deprecationFaults(
      bent(d => {
        for (const part of [list(d), list(d).parameters[0], wanted(d).properties.size])
          Object.assign(part, {deprecated: true, 'x-deprecation': {since, sunset}});
      }),
    );

  t.deepEqual(marked('2027-01-01', '2027-07-01'), []);
  t.deepEqual(marked('2027-08-31', '2028-03-02'), []);
  t.is(marked('2027-01-01', '2027-06-30').length, 3);
  t.regex(marked('2027-01-01', '2027-06-30')[0] ?? '', /less than six months/);
  t.is(marked('2027-01-01', 'soon').length, 3);
  t.is(deprecationFaults(bent(d => (list(d).deprecated = true))).length, 1, 'without its days');
  t.deepEqual(deprecationFaults(description()), [], 'marks as the helper makes them');
});
