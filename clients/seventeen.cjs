// Has all CommonJS modules use graphql-js 17, which package.json installs beside 16: node --require ./seventeen.cjs FILE
const Module = require("node:module");

const resolve = Module._resolveFilename;
Module._resolveFilename = (name, ...rest) => resolve(name.replace(/^graphql(?=$|\/)/, "graphql17"), ...rest);

const { version } = require("graphql");
if (!version.startsWith("17.")) throw new Error(`graphql is ${version}, want 17`);
