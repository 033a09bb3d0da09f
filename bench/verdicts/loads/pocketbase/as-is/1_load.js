migrate((app) => {
  const open = { listRule: "", viewRule: "", createRule: "" };
  app.save(new Collection({ type: "base", name: "items", fields: [{ name: "title", type: "text" }], ...open }));
  const users = app.findCollectionByNameOrId("users");
  users.fields.getByName("password").cost = 10;
  app.save(users);
});
